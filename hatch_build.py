"""What a wheel depends on, and the compiled kernels of a wheel for one platform.

By default a wheel is for any platform and depends on numba, which compiles kernels on first use.
With ``DISCBAYES_PLATFORM_WHEEL=1`` the kernels are compiled while the wheel is built, for the types
of ``kernels/signatures.txt``, and numba is an extra.

Kernels are compiled ahead by ``numba.pycc``, which is deprecated without a replacement; that is
why its version is fixed here, and why nothing but this file uses it. Without it the same object
code can be written from ``Dispatcher.overloads`` (``library.emit_native_object``) and linked to a
module whose functions are written by hand.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FOR_PLATFORM = os.environ.get("DISCBAYES_PLATFORM_WHEEL", "0") not in ("", "0")
COMPILER = ["numba==0.68.1", "numpy>=2.0", "setuptools>=65"]
TARGET = "x86-64-v3"  # processors since 2013; kernels/_shipped.py looks whether this one is
# Features of the processor that builds must not be used, nor Intel's library of functions.
ENVIRONMENT = {
    "NUMBA_CPU_NAME": TARGET,
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_INTEL_SVML": "1",
    "NUMBA_DISABLE_JIT": "0",
    "DISCBAYES_SHIPPED": "0",
}


class Dependencies(MetadataHookInterface):
    """Numba is a dependency where nothing is compiled ahead."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the dependencies to the metadata."""
        compiler = [] if FOR_PLATFORM else metadata["optional-dependencies"]["jit"]
        metadata["dependencies"] = [*self.config["dependencies"], *compiler]


class CompiledKernels(BuildHookInterface):
    """Compile the kernels into the wheel."""

    def dependencies(self) -> list[str]:
        """Return what building needs."""
        return COMPILER if FOR_PLATFORM else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the module, unless the wheel is for any platform."""
        if not FOR_PLATFORM or self.target_name != "wheel" or version != "standard":
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        settings = {**os.environ, **ENVIRONMENT, "NUMBA_CACHE_DIR": str(folder / "cache")}
        subprocess.run([sys.executable, __file__, self.root, folder], env=settings, check=True)
        (module,) = folder.glob("_ahead.*")
        build_data["force_include"][str(module)] = f"discbayes/kernels/{module.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def compile_module(root: Path, folder: Path) -> None:
    """Compile all listed kernels into one module ``_ahead`` in a folder."""
    package = ModuleType("discbayes")  # the kernels alone: they need numba and numpy only
    package.__path__ = [str(root / "src" / "discbayes")]
    sys.modules["discbayes"] = package
    warnings.simplefilter("ignore")
    from numba.pycc import CC, compiler

    from discbayes.kernels import _signatures, _warmup
    from discbayes.kernels._shipped import entry_name, shipped_type

    compiler.Flags = lambda flags=compiler.Flags: _as_kernels(flags())
    module = CC("_ahead", source_module=_warmup)
    module.target_cpu = TARGET
    module.output_dir = str(folder)
    for name, signatures in _signatures.read().items():
        for kinds in dict.fromkeys(tuple(map(shipped_type, one)) for one in signatures):
            arguments = tuple(_warmup.numba_type(_plain(kind)) for kind in kinds)
            module.export(entry_name(name, kinds), arguments)(_entry(name, kinds))
    module.compile()


def _as_kernels(flags: Any) -> Any:
    """Set what pycc has no option for."""
    flags.release_gil = True
    flags.error_model = "numpy"
    return flags


def _plain(kind: Any) -> Any:
    """Return a type without the names of named tuples, which only numba could look up."""
    if not hasattr(kind, "items"):
        return kind
    return kind._replace(name="", items=tuple(map(_plain, kind.items)))


def _entry(name: str, kinds: tuple[Any, ...]) -> Any:
    """Return a function that calls a kernel, with named tuples made of plain ones."""
    from discbayes.kernels import _signatures, _warmup

    known: dict[str, Any] = {"kernel": _signatures.load_kernel(name)}

    def written(kind: Any, at: str) -> str:
        if not getattr(kind, "name", ""):
            return at
        known[kind.name] = _warmup.record_class(kind.name)
        items = [written(item, f"{at}[{k}]") for k, item in enumerate(kind.items)]
        return f"{kind.name}({', '.join(items)})"

    names = [f"a{k}" for k in range(len(kinds))]
    values = [written(kind, at) for kind, at in zip(kinds, names, strict=True)]
    source = f"def entry({', '.join(names)}):\n    return kernel({', '.join(values)})"
    exec(source, known)
    return known["entry"]


if __name__ == "__main__":
    compile_module(Path(sys.argv[1]), Path(sys.argv[2]))
