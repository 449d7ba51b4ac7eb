"""Bundle the modules of ``js/src``: ``python js/bundle.py``.

It writes the scripts of the HTML report, which the wheel ships, and ``js/dist``, the npm package:
an ES module, one for ``require``, both without comments, indentation and spaces around signs, their
types and the license.

A small bundler by hand, since a report allows one inline script and an npm bundler would be a
dependency for the sake of removing ``import`` lines. It knows one form of each statement:
``import { a, b } from "./file.js";`` on one line, and ``export`` before a declaration. Modules are
joined in the order of their imports, inside one function for each bundle; names at the top level
of a bundle must therefore be unique, which is checked.
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).parent / "src"
ASSETS = Path(__file__).parents[1] / "src" / "discbayes" / "report" / "assets"
DIST = Path(__file__).parent / "dist"
ENTRY = "package/index.js"

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function|class|const) (\w+))", re.MULTILINE)
_TOP_LEVEL = re.compile(r"^(?:export )?(?:function|class|const|let) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"^ *//.*\n| // [^\n\"`]*$", re.MULTILINE)
_TEXT = re.compile(r'("(?:[^"\\\n]|\\.)*"|`[^`]*`)')  # strings and templates
_SPACED = re.compile(r" *([=<>?:,;{}()&|*%]) *")
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def engine_script() -> str:
    """Return the inference engine as a script with one global, ``DiscBayes``.

    In node the global is also what the module exports.
    """
    body = bundle("engine/network.js")
    return (
        f'"use strict";\n\nconst DiscBayes = (() => {{\n{body}\nreturn {{ Network }};\n}})();\n\n'
        'if (typeof module !== "undefined") module.exports = DiscBayes;\n'
    )


def page_script() -> str:
    """Return the behavior of the page as a script that takes the engine from ``DiscBayes``."""
    return f"(() => {{\n{bundle('page/main.js', {'engine/network.js': 'DiscBayes'})}}})();\n"


def package_files() -> dict[str, str]:
    """Return the files of the npm package by their names."""
    names = _IMPORT.findall((SOURCES / ENTRY).read_text("utf-8"))
    exported = ", ".join(sorted({name for part, _ in names for name in part.split(", ")}))
    body = _smaller(bundle(ENTRY))
    types = (SOURCES / ENTRY).with_suffix(".d.ts").read_text("utf-8")
    return {
        "index.d.ts": types,
        "index.d.cts": types,
        "LICENSE": (Path(__file__).parents[1] / "LICENSE").read_text("utf-8"),
        "index.js": f"{body}export {{ {exported} }};\n",
        "index.cjs": f'"use strict";\n{body}module.exports = {{ {exported} }};\n',
    }


def _smaller(script: str) -> str:
    parts = _TEXT.split(_COMMENT.sub("", script))
    parts[::2] = [_SPACED.sub(r"\1", re.sub(r"\n\s*", "\n", part)) for part in parts[::2]]
    return "".join(parts).lstrip()


def bundle(entry: str, provided: dict[str, str] | None = None) -> str:
    """Join a module and all that it imports, imported modules first.

    Parameters
    ----------
    entry : str
        A path below ``js/src``.
    provided : dict of str to str, optional
        Modules that are not joined, with the global that has their exports.
    """
    bodies: dict[str, str] = {}
    _add(entry, provided or {}, bodies)
    joined = "\n".join(bodies.values())
    names = _TOP_LEVEL.findall(joined)
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise ValueError(f"the modules of {entry} declare these names twice: {', '.join(doubles)}")
    return joined


def _add(path: str, provided: dict[str, str], bodies: dict[str, str]) -> None:
    if path in bodies:
        return
    text = (SOURCES / path).read_text("utf-8")
    globals_used = []
    for names, target in _IMPORT.findall(text):
        source = (SOURCES / path).parent.joinpath(target).resolve()
        module = source.relative_to(SOURCES.resolve()).as_posix()
        lacking = set(names.split(", ")) - set(_EXPORT.findall(source.read_text("utf-8")))
        if lacking:
            raise ValueError(f"{path} imports {', '.join(sorted(lacking))}, not in {module}")
        if module in provided:
            globals_used.append(f"const {{ {names} }} = {provided[module]};\n")
        else:
            _add(module, provided, bodies)
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    other = _OTHER_FORM.search(body)
    if other:
        raise ValueError(f"{path} has a statement that the bundler does not know: {other[0]}")
    bodies[path] = re.sub(r"\n{3,}", "\n\n", "".join(globals_used) + body)


def write() -> None:
    """Write the scripts of the report to the assets of the package, and the npm package."""
    scripts = {ASSETS / "engine.js": engine_script(), ASSETS / "page.js": page_script()}
    scripts |= {DIST / name: text for name, text in package_files().items()}
    DIST.mkdir(exist_ok=True)
    for path, script in scripts.items():
        path.write_text(script, encoding="utf-8", newline="\n")
        print(f"{path}: {len(script):,} characters")


if __name__ == "__main__":
    write()
