"""A page of the Python package's public names: signatures and docstrings."""
import ast
import os
import re


def described(node):
    """A docstring as Markdown: sections (Args, Raises, ...) become lists."""
    text = (ast.get_docstring(node) or "").replace("``", "`")
    out = []
    is_example = False
    for line in text.split("\n"):
        if line.startswith(">>>") != is_example and not (is_example and line.startswith("...")):
            out.append("```" if is_example else "\n```python")
            is_example = not is_example
        section = re.match(r"(Attributes|Args|Returns|Raises|Yields):$", line)
        if section:
            out += ["", "**%s**" % section.group(1), ""]
        elif re.match(r"    [\w*][\w*, ]*: ", line):
            name, _, rest = line.strip().partition(": ")
            out.append("* `%s`: %s" % (name, rest))
        else:
            out.append(line)
    return "\n".join(out + ["```"] * is_example) + "\n"


def signature(node, name):
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    result = " -> " + ast.unparse(node.returns) if node.returns is not None and name != "__init__" else ""
    one = "%s(%s)%s" % (node.name, arguments, result)
    if len(one) > 90:
        parts = re.split(r", (?![^\[(]*[\])])", arguments)
        one = "%s(\n    %s,\n)%s" % (node.name, ",\n    ".join(parts), result)
    return ("async def " if isinstance(node, ast.AsyncFunctionDef) else "def ") + one


def function(node, name, shown, depth):
    heading = "#" * depth + " " + shown
    return "%s\n\n```python\n%s\n```\n\n%s" % (heading, signature(node, name), described(node))


def one_class(node):
    bases = [ast.unparse(base) for base in node.bases]
    out = ["## %s\n" % node.name, "```python\nclass %s%s\n```\n" % (node.name, "(%s)" % ", ".join(bases) if bases else ""),
           described(node)]
    for member in node.body:
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [ast.unparse(decorator) for decorator in member.decorator_list]
            if member.name == "__init__":
                member.name = node.name
                out.append("```python\n%s\n```\n\n%s" % (signature(member, "__init__")[4:], described(member)))
            elif not member.name.startswith("_") and "overload" not in decorators:
                if any(name in ("property", "cached_property") for name in decorators):
                    kind = ast.unparse(member.returns) if member.returns is not None else "Any"
                    out.append("### %s.%s\n\n```python\n%s: %s\n```\n\n%s" % (
                        node.name, member.name, member.name, kind, described(member)))
                else:
                    out.append(function(member, member.name, node.name + "." + member.name, 3))
    return "\n".join(out)


def page(package):
    """The page, or nothing where the package is not there."""
    path = os.path.join(package, "__init__.py")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        top = ast.parse(file.read())
    out = ["# Python API\n", described(top)]
    order = ast.get_docstring(top) or ""
    imports = [statement for statement in top.body if isinstance(statement, ast.ImportFrom) and statement.level]
    # In the order in which the package's docstring names them.
    for statement in sorted(imports, key=lambda at: min(order.find("`%s`" % alias.name) % (1 << 20)
                                                        for alias in at.names)):
        with open(os.path.join(package, statement.module + ".py"), encoding="utf-8") as file:
            module = ast.parse(file.read())
        wanted = {alias.name for alias in statement.names}
        for node in module.body:
            if isinstance(node, ast.ClassDef) and node.name in wanted:
                out.append(one_class(node))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in wanted \
                    and "overload" not in [ast.unparse(decorator) for decorator in node.decorator_list]:
                out.append(function(node, node.name, node.name, 2))
    text = "\n".join(out)
    # Pages that a docstring names.
    return re.sub(r"(?<![`/\w])docs/([\w-]+)\.md\b", r"[docs/\1.md](../docs/\1.md)", text)
