"""From LLVM IR to object code that is checked and loaded, all by llvmlite's public functions."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import struct
from typing import Any

import llvmlite.binding as llvm

from gasla.compiler.kernel_types import CompileError

LEVEL = 2  # of optimisation
# What nearly all x86-64 processors since 2013 have. Code for it runs on all of them, so it is stored once, and shipped.
X86_64_V3 = "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
_forever: list[Any] = []  # engines: threads may be in their code to the end


@functools.cache
def _ready() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def host() -> tuple[str, str, str]:
    """The target triple, processor and features of this machine."""
    _ready()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def llvm_version() -> tuple[int, ...]:
    """The version of LLVM."""
    found: tuple[int, ...] = llvm.llvm_version_info
    return found


@functools.cache
def common() -> tuple[str, str, str]:
    """The target of code that other machines can run, too: x86-64-v3, where this machine has it; else its own."""
    triple, _, features = own = host()
    has_all = set(X86_64_V3.split(",")) <= set(features.split(","))
    return (triple, "x86-64-v3", X86_64_V3) if has_all and triple.startswith("x86_64") else own


def _machine(target: tuple[str, str, str]) -> Any:
    """A new target machine; each engine frees the one that it is given.

    Its code reaches its constants and what it calls at any distance: where much of the address space is taken, as by a
    GPU's driver, parts of an object may lie more than 2 GiB apart, and LLVM would end the process.
    """
    triple, processor, features = target
    kind = llvm.Target.from_triple(triple)
    return kind.create_target_machine(cpu=processor, features=features, opt=LEVEL, reloc="static", codemodel="large")


def compile_ir(text: str, packs: bool = False, target: tuple[str, str, str] | None = None) -> bytes:
    """The object code of LLVM IR for this machine, or for another target: its triple, processor and features.

    `packs` has LLVM look for scalars side by side that make one vector.
    """
    machine = _machine(target or host())
    try:
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM does not take what was made of a text: {error}") from None
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.loop_vectorization, options.slp_vectorization = True, packs
    options.loop_unrolling = False  # a fifth of the time, and no gain on twenty algorithms: they wait for memory
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    code: bytes = machine.emit_object(module)
    return code


class Loaded:
    """The functions of objects that make one whole, in memory, where it stays."""

    def __init__(self, *codes: bytes) -> None:
        for name in undefined(*codes):
            _resolve(name)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(host()))
        _forever.append(self._engine)
        for code in codes:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function begins."""
        found: int = self._engine.get_function_address(name)
        if not found:
            raise KeyError(name)
        return found


def undefined(*codes: bytes) -> set[str]:
    """The symbols that objects need from elsewhere; none but ELF's are read."""
    needed: set[str] = set()
    defined: set[str] = set()
    for code in codes:
        if code[:4] != b"\x7fELF":
            continue
        sections = {section.name(): section.data() for section in llvm.ObjectFileRef.from_data(code).sections()}
        names, table = sections.get(b".strtab", b""), sections.get(b".symtab", b"")
        for start, _info, _other, section, _value, _size in struct.iter_unpack("<IBBHQQ", table):
            if start:
                name = names[start : names.index(b"\0", start)].decode()
                (defined if section else needed).add(name)
    return needed - defined


@functools.cache
def _libraries() -> list[Any]:
    names = [None, ctypes.util.find_library("m")]
    return [ctypes.CDLL(name) for name in names if name is None or name]


@functools.cache
def _resolve(name: str) -> None:
    """Tell LLVM where a function of C is: with one missing it would end the process."""
    if llvm.address_of_symbol(name):
        return
    for library in _libraries():
        if hasattr(library, name):
            llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
            return
    raise CompileError(f"compiled code needs the function {name}, which this system does not have")
