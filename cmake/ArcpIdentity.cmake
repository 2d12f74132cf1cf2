# Writes the source TO with arcp__build_identity: VERSION and a hash over the files that FROM lists,
# one a line. Run by cmake -P.
file(STRINGS ${FROM} files)
set(hashes "")
foreach(file ${files})
  file(SHA256 ${file} hash)
  string(APPEND hashes "${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${TO} "#include \"record/record.h\"\n\nconst char arcp__build_identity[] = \"${VERSION}-${hash}\";\n")
