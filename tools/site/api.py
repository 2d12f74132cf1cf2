"""Pages of the public headers, from doxygen's XML: what a header declares, in its order."""
import glob
import html
import os
import re
import xml.etree.ElementTree as tree


class Api:
    def __init__(self, folder):
        self.files = {}
        self.places = {}  # doxygen's id -> page#anchor
        self.names = {}  # a name -> page#anchor
        self.compounds = {}
        for path in sorted(glob.glob(folder + "/*.xml")):
            if os.path.basename(path) in ("index.xml", "Doxyfile.xml"):
                continue
            compound = tree.parse(path).getroot().find("compounddef")
            if compound is None:
                continue
            self.compounds[compound.get("id")] = compound
        for compound in self.compounds.values():
            if compound.get("kind") == "file":
                name = re.sub(r".*include/", "", compound.find("location").get("file"))
                if name.endswith(".h"):
                    self.files[name] = compound
        for name, compound in self.files.items():
            page = page_name(name)
            for member in members(compound):
                self.places[member.get("id")] = page + "#" + anchor(member.findtext("name"))
                self.names[member.findtext("name")] = self.places[member.get("id")]
                for value in member.findall("enumvalue"):
                    self.names[value.findtext("name")] = self.places[member.get("id")]
                    self.places[value.get("id")] = page + "#" + anchor(member.findtext("name"))
            for inner in compound.findall("innerclass"):
                self.places[inner.get("refid")] = page + "#" + anchor(inner.text)
        for identity, compound in self.compounds.items():
            for member in compound.iter("memberdef"):
                self.places.setdefault(member.get("id"), self.places.get(identity, ""))

    def prose(self, text, element):
        """Text with links at the names that it has."""
        text = html.escape(text or "", quote=False)
        if element.tag in ("ref", "verbatim"):
            return text
        text = re.sub(r"\bdocs/([\w/-]+)\.md\b", r'<a href="../docs/\1.html">\g<0></a>', text)
        return re.sub(r"\b(arcp_\w+|ARCP_\w+)\b", lambda m: '<a href="%s">%s</a>' % (self.names[m.group(1)], m.group(1))
                      if m.group(1) in self.names else m.group(1), text)

    def text(self, element):
        """A description or type as HTML."""
        out = [self.prose(element.text, element)]
        for child in element:
            inside = self.text(child)
            place = self.places.get(child.get("refid", ""))
            if child.tag == "ref" and place:
                inside = '<a href="%s">%s</a>' % (place, inside)
            elif child.tag == "computeroutput":
                inside = "<code>%s</code>" % inside
            elif child.tag == "verbatim":
                inside = "<pre><code>%s</code></pre>" % inside
            elif child.tag in ("itemizedlist", "orderedlist"):
                inside = "<ul>%s</ul>" % inside
            elif child.tag == "listitem":
                inside = "<li>%s</li>" % inside
            elif child.tag == "para" and element.tag != "listitem":
                inside = "<p>%s</p>" % inside
            elif child.tag in ("nonbreakablespace", "ndash", "mdash"):
                inside = {"nonbreakablespace": "&nbsp;", "ndash": "&ndash;", "mdash": "&mdash;"}[child.tag]
            out.append(inside + self.prose(child.tail, element))
        return "".join(out)

    def described(self, element):
        texts = [self.text(part) for tag in ("briefdescription", "detaileddescription")
                 for part in element.findall(tag)]
        return re.sub(r"`([^`<]+)`", r"<code>\1</code>", "".join(text for text in texts if text.strip()))

    def fields(self, rows):
        out = []
        for declaration, text in rows:
            out.append("<tr><td><code>%s</code></td><td>%s</td></tr>" % (declaration, text))
        return "<table><tbody>%s</tbody></table>" % "".join(out) if out else ""

    def struct(self, identity):
        compound = self.compounds.get(identity)
        rows = []
        for member in [] if compound is None else compound.iter("memberdef"):
            if member.get("kind") == "variable":
                rows.append((self.text(member.find("type")) + " " + html.escape(
                    (member.findtext("name") or "") + (member.findtext("argsstring") or "")),
                    self.described(member)))
        return (("" if compound is None else self.described(compound)), self.fields(rows))

    def member(self, member):
        kind = member.get("kind")
        name = member.findtext("name")
        text = self.described(member)
        if kind == "function":
            arguments = []
            for param in member.findall("param"):
                declared = self.text(param.find("type"))
                declared_name = param.findtext("declname") or ""
                arguments.append(declared + ("" if declared.endswith("*") or not declared_name else " ") +
                                 declared_name + html.escape(param.findtext("array") or ""))
            result = self.text(member.find("type"))
            result += "" if result.endswith("*") else " "
            one = "%s%s(%s);" % (result, name, ", ".join(arguments))
            if len(re.sub("<[^>]*>", "", one)) > 90:
                one = "%s%s(\n    %s);" % (result, name, ",\n    ".join(arguments))
            return "<pre><code>%s</code></pre>" % one + text
        if kind == "enum":
            rows = [(html.escape(value.findtext("name") + " " + (value.findtext("initializer") or "")).strip(),
                     self.described(value)) for value in member.findall("enumvalue")]
            return text + self.fields(rows)
        if kind == "define":
            parameters = [param.findtext("defname") or "" for param in member.findall("param")]
            value = "".join(member.find("initializer").itertext()) if member.find("initializer") is not None else ""
            shown = "#define %s%s %s" % (name, "(%s)" % ", ".join(parameters) if parameters else "",
                                        value if "\n" not in value and len(value) < 60 else "...")
            return "<pre><code>%s</code></pre>" % html.escape(shown.strip()) + text
        if kind == "typedef":
            shown = self.text(member.find("type")) + " " + name + html.escape(member.findtext("argsstring") or "")
            if "(*" in shown:
                shown = self.text(member.find("type")) + name + html.escape(member.findtext("argsstring") or "")
            reference = member.find("type/ref")
            if reference is not None and reference.text == name and "(*" not in shown:
                described, fields = self.struct(reference.get("refid"))
                return "<pre><code>typedef %s;</code></pre>" % shown + (text or described) + fields
            return "<pre><code>typedef %s;</code></pre>" % shown + text
        return text

    def page(self, name):
        compound = self.files[name]
        out = ["# %s\n" % name, "```c\n#include <%s>\n```\n" % name, block(self.described(compound))]
        typedefs = {m.findtext("name") for m in members(compound) if m.get("kind") == "typedef"}
        enums = {m.findtext("name") for m in members(compound) if m.get("kind") == "enum"}
        items = [(int(m.find("location").get("line")), m.findtext("name"), self.member(m)) for m in members(compound)
                 if m.get("kind") != "typedef" or m.findtext("name") not in enums]
        for inner in compound.findall("innerclass"):
            if inner.text not in typedefs and inner.get("refid") in self.compounds:
                described, fields = self.struct(inner.get("refid"))
                line = int(self.compounds[inner.get("refid")].find("location").get("line"))
                items.append((line, inner.text, described + fields))
        for _, identity, text in sorted(items):
            out.append("\n### %s\n" % identity)
            out.append(block(text))
        return "\n".join(out)


def block(text):
    """HTML that Markdown leaves as it is: without blank lines."""
    return '<div class="api">' + re.sub(r"\n\s*\n", "\n", text) + "</div>\n" if text.strip() else ""


def anchor(name):
    """The anchor that the heading gets."""
    return name.lower()


def members(compound):
    """What a page lists: no include guards, no helpers of tables."""
    for member in compound.iter("memberdef"):
        name = member.findtext("name") or ""
        if member.get("kind") in ("function", "enum", "typedef", "define") and name and not name.startswith("@") \
                and not re.match(r"ARCP_.*_H$|_", name):
            yield member


def page_name(header):
    return header.replace("/", "-").replace(".h", ".md")


def first_sentence(text):
    plain = re.sub(r"<[^>]*>", "", text.split("</p>")[0]).strip().replace("\n", " ")
    return re.split(r"(?<=\.) ", plain)[0].replace("|", "\\|")


def write(xml, folder):
    """Writes a page for each header into the folder; title, file name and first sentence of each."""
    api = Api(xml)
    os.makedirs(folder, exist_ok=True)
    for name in api.files:
        with open(os.path.join(folder, page_name(name)), "w", encoding="utf-8") as file:
            file.write(api.page(name).replace('.md#', '.html#'))
    return [(name, page_name(name), first_sentence(api.described(api.files[name])))
            for name in sorted(api.files, key=lambda n: ("sys/" in n, n))]
