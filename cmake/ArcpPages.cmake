# cmake -D "FILES=a.html;b.css" -D TO=DIRECTORY -P ArcpPages.cmake: files as a part of a program.
#
# Writes files.S, which has their bytes and the same compressed by gzip, and files.c, which has the table
# of src/dashboard/files.h.
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
set(all "")
set(rows "")
set(names "")
set(content "    .section .rodata\n")
list(LENGTH FILES count)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  list(GET FILES ${i} file)
  get_filename_component(name ${file} NAME)
  get_filename_component(suffix ${file} LAST_EXT)
  string(SUBSTRING ${suffix} 1 -1 suffix)
  file(SHA256 ${file} hash)
  string(APPEND all "${name} ${hash}\n")
  # -n: no time and no name, so that two builds are the same.
  execute_process(COMMAND gzip -9nc ${file} OUTPUT_FILE ${TO}/${name}.gz COMMAND_ERROR_IS_FATAL ANY)
  foreach(part page_${i} gzip_${i})
    if(part MATCHES gzip)
      set(from ${TO}/${name}.gz)
    else()
      set(from ${file})
    endif()
    string(APPEND content "    .hidden arcp__dashboard_${part}, arcp__dashboard_${part}_end\n"
      "    .global arcp__dashboard_${part}, arcp__dashboard_${part}_end\n"
      "arcp__dashboard_${part}:\n    .incbin \"${from}\"\n"
      "arcp__dashboard_${part}_end:\n    .byte 0\n")
    string(APPEND names "extern const char arcp__dashboard_${part}[], arcp__dashboard_${part}_end[];\n")
  endforeach()
  string(APPEND rows "    {\"${name}\", \"${type_${suffix}}\", arcp__dashboard_page_${i}, arcp__dashboard_page_${i}_end,\n"
    "     arcp__dashboard_gzip_${i}, arcp__dashboard_gzip_${i}_end},\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${TO}/files.S "${content}    .section .note.GNU-stack,\"\",%progbits\n")
file(WRITE ${TO}/files.c "#include \"dashboard/files.h\"\n\n${names}\n"
  "const arcp__dashboard_file arcp__dashboard_files[] = {\n${rows}};\n"
  "const size_t arcp__dashboard_file_count = ${count};\n"
  "const char arcp__dashboard_hash[] = \"${hash}\";\n")
