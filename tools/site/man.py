"""Manual pages (scdoc) as pages of the site."""
import html
import re


def is_underline(text, i, is_open):
    """Whether the _ at i is a mark: inside a word it is a letter."""
    if is_open:
        return not text[i + 1:i + 2].isalnum()
    return not text[max(i - 1, 0):i].isalnum()


def inline(text):
    """scdoc's *bold*, _underline_ and backslash escapes, as HTML."""
    out = []
    marks = {"*": ("<strong>", "</strong>"), "_": ("<em>", "</em>")}
    is_open = {"*": False, "_": False}
    i = 0
    while i < len(text):
        char = text[i]
        if char == "\\" and i + 1 < len(text):
            i += 1
            out.append(html.escape(text[i]))
        elif char == "*" or (char == "_" and is_underline(text, i, is_open["_"])):
            out.append(marks[char][is_open[char]])
            is_open[char] = not is_open[char]
        else:
            out.append(html.escape(char, quote=False))
        i += 1
    return "".join(out)


def blocks(lines):
    """(indent, [lines], whether the next one follows without a blank line) of each paragraph: it ends at a blank
    line or where the indent changes."""
    done, block, indent, goes_on, is_literal = [], [], 0, False, False
    for line in lines + [""]:
        depth = len(line) - len(line.lstrip("\t"))
        if line.strip() == "```":
            if block:
                done.append((indent, ["```"] + block if is_literal else block, False))
            block, indent, is_literal = [], depth, not is_literal
            continue
        if is_literal:
            block.append(line)
            continue
        is_heading = line.startswith("#") and not goes_on
        if block and not goes_on and (not line.strip() or depth != indent or is_heading):
            done.append((indent, block, bool(line.strip())))
            block = []
        if not line.strip():
            goes_on = False
            continue
        if not block:
            indent = -1 if is_heading else depth
        block.append(line.strip("\t"))
        goes_on = line.endswith("++")
    return done


def paragraph(lines):
    if lines[0] == "```":
        return "<pre><code>%s</code></pre>" % html.escape("\n".join(lines[1:]), quote=False)
    if lines[0].startswith("- "):
        items = [item.replace("\n", " ") for item in ("\n" + "\n".join(lines)).split("\n- ")[1:]]
        return "<ul>%s</ul>" % "".join("<li>%s</li>" % inline(item) for item in items)
    if any(line.endswith("++") for line in lines):
        return "<pre><code>%s</code></pre>" % "\n".join(inline(re.sub(r"\+\+$", "", line)) for line in lines)
    return "<p>%s</p>" % inline(" ".join(lines))


def to_page(text):
    lines = text.split("\n")
    title = re.match(r"([\w.-]+\(\d\))", lines[0]).group(1)
    out = ["# " + title]
    done = blocks(lines[1:])
    depth = 0
    for i, (indent, block, is_followed) in enumerate(done):
        out += ["</dd></dl>"] * max(0, depth - max(indent, 0))
        depth = min(depth, max(indent, 0))
        if indent < 0:
            mark, name = block[0].split(" ", 1)
            out.append("\n#%s %s\n" % (mark, name.capitalize() if name.isupper() else name))
        elif is_followed and done[i + 1][0] == indent + 1 and depth == indent:
            out.append("<dl><dt>%s</dt><dd>" % inline(" ".join(block)).replace("++ ", "<br>"))
            depth += 1
        else:
            out.append(paragraph(block))
    out.append("</dd></dl>" * depth)
    return "\n".join(out) + "\n"
