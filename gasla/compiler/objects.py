"""Compiles LLVM IR to object code, checks that the system has all functions that the code calls, and loads the code."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import platform
import struct
import sys
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm

from gasla.compiler import system
from gasla.compiler.kernel_types import CompileError

LEVEL = 2  # LLVM's optimization level, as of `-O2`
# For each architecture, LLVM's names of a processor and of features that nearly all machines have: x86-64 processors
# since 2013 (x86-64-v3), and the features that ARM processors since 2018 (armv8.2-a) offer to programs. The code in
# wheels is compiled for these, so that it runs on all such machines.
PORTABLE = {
    "x86_64": (
        "x86-64-v3",
        "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave",
    ),
    "aarch64": ("generic", "+crc,+fp-armv8,+lse,+neon,+rdm"),
}
# Features of ARM processors by LLVM's name, each with the bit by which Linux reports it in the auxiliary vector.
HWCAP = {"+fp-armv8": 1 << 0, "+neon": 1 << 1, "+crc": 1 << 7, "+lse": 1 << 8, "+rdm": 1 << 12}
# LLVM's engines, which own the loaded code. They are never freed, because threads may be running the code.
_engines: list[Any] = []


@functools.cache
def _initialize_llvm() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def host() -> tuple[str, str, str]:
    """Return LLVM's target triple, processor name and features of this machine."""
    _initialize_llvm()
    triple = llvm.get_process_triple()
    if sys.platform == "win32" and not triple.endswith("-elf"):
        # Use the calling conventions of Windows, but object code in the ELF format, which LLVM's loader handles best.
        triple += "-elf"
    return triple, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def llvm_version() -> tuple[int, ...]:
    """Return the version of LLVM that this process uses, as a tuple such as (20, 1, 0)."""
    version: tuple[int, ...] = llvm.llvm_version_info
    return version


@functools.cache
def common() -> tuple[str, str, str]:
    """Return the target (triple, processor, features) for which code is compiled by default.

    Most machines can run it. If this machine lacks some of its features, return this machine instead, so that the code
    runs here.
    """
    triple, _, features = own_target = host()
    processor, portable_features = PORTABLE.get(triple.partition("-")[0], own_target[1:])
    return (
        (triple, processor, portable_features)
        if {*portable_features.split(",")} <= {*features.split(","), *_arm_features()}
        else own_target
    )


def _arm_features() -> set[str]:
    """Return the features that Linux reports for an ARM processor, and an empty set on other systems.

    LLVM reads the features from a file that emulators of ARM may not have, so this asks Linux instead.
    """
    if sys.platform != "linux" or platform.machine() != "aarch64":
        return set()
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype, getauxval.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    return {feature for feature, bit in HWCAP.items() if getauxval(16) & bit}


def target_of(processor: str) -> tuple[str, str, str]:
    """Return the target (triple, processor, features) of the code in Linux wheels for an architecture.

    The architecture, `processor`, is one of `PORTABLE`, and may be another one than this machine's.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return (f"{processor}-unknown-linux-gnu", *PORTABLE[processor])


def _machine(target: tuple[str, str, str]) -> Any:
    """Return a new target machine, LLVM's object that compiles IR for a target (triple, processor, features).

    It can't be reused, as the engine that it is given to frees it. The code model is large: if much of the address
    space is in use, as by a GPU's driver, the sections of an object may lie more than 2 GiB apart, and LLVM would end
    the process.
    """
    triple, processor, features = target
    kind = llvm.Target.from_triple(triple)
    return kind.create_target_machine(cpu=processor, features=features, opt=LEVEL, reloc="static", codemodel="large")


def compile_ir(text: str, packs: bool = False, target: tuple[str, str, str] | None = None) -> bytes:
    """Compile LLVM IR to object code for this machine, or for another target (triple, processor and features).

    `packs` turns on LLVM's SLP vectorizer, which combines scalar instructions to vector instructions.
    """
    machine = _machine(target or host())
    try:
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM rejects the generated IR: {error}") from None
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.loop_vectorization, options.slp_vectorization = True, packs
    # Loop unrolling takes a fifth of the compile time. Twenty algorithms, all bound by memory, run no faster with it.
    options.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    code: bytes = machine.emit_object(module)
    return code


class Loaded:
    """Object files that are linked, loaded into memory, and kept there until the process ends."""

    def __init__(self, *codes: bytes) -> None:
        for name in undefined(*codes):
            _resolve(name)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(host()))
        _engines.append(self._engine)
        for code in codes:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return the address of a function in the loaded code, by name.

        Raise a KeyError if there is no such function.
        """
        found_address: int = self._engine.get_function_address(name)
        if not found_address:
            raise KeyError(name)
        return found_address


def undefined(*codes: bytes) -> set[str]:
    """Return the C names of the functions that object files call but do not define.

    The files may be ELF, Mach-O or COFF, each of 64 bits.
    """
    needed: set[str] = set()
    defined: set[str] = set()
    for code in codes:
        for name, is_defined in _symbols(code):
            (defined if is_defined else needed).add(name)
    return needed - defined


def _symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """Yield the C name of each function or variable that an object file defines or refers to.

    Each name comes with True if the file defines it, and False if it only refers to it.
    """
    if code[:4] == b"\x7fELF":
        sections = {section.name(): section.data() for section in llvm.ObjectFileRef.from_data(code).sections()}
        names, table = sections.get(b".strtab", b""), sections.get(b".symtab", b"")
        for offset, _info, _other, section, _value, _size in struct.iter_unpack("<IBBHQQ", table):
            if offset:
                yield _text(names, offset), section != 0
    elif code[:4] == b"\xcf\xfa\xed\xfe":  # Mach-O, which puts an underscore before each C name
        entry_offset, (commands,) = 32, struct.unpack_from("<I", code, 16)
        for _ in range(commands):
            command, size = struct.unpack_from("<II", code, entry_offset)
            if command == 2:
                table, count, names_at, _size = struct.unpack_from("<4I", code, entry_offset + 8)
                for offset, kind, _section, _more, _value in struct.iter_unpack(
                    "<IBBHQ", code[table : table + 16 * count]
                ):
                    if kind & 1:  # only external symbols, because other object files can't refer to any others
                        yield _text(code, names_at + offset).removeprefix("_"), kind & 0x0E != 0
            entry_offset += size
    elif code[:2] in (b"\x64\x86", b"\x64\xaa"):  # COFF for x86-64 and ARM
        table, count = struct.unpack_from("<II", code, 8)
        names_at, skipped = table + 18 * count, 0
        for name, _value, section, _type, kind, more in struct.iter_unpack("<8sIhHBB", code[table:names_at]):
            if skipped:
                skipped -= 1
                continue
            skipped = more  # number of records of the symbol table that follow and only add to this symbol
            # An external symbol, to which other object files can refer. `_fltused` is left out: it is no function, but
            # marks object files that compute with floats.
            if kind == 2 and name != b"_fltused":
                is_long, offset = name[:4] == bytes(4), int.from_bytes(name[4:], "little")
                yield _text(code, names_at + offset) if is_long else name.rstrip(b"\0").decode(), section != 0
    else:
        raise ValueError(f"an object begins with {code[:4]!r}; expected ELF, Mach-O or COFF of 64 bits")


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def machine(code: bytes) -> str:
    """Return the architecture of an ELF object file, as tags of wheels name it."""
    return {62: "x86_64", 183: "aarch64"}[struct.unpack_from("<H", code, 18)[0]]


@functools.cache
def _libraries() -> list[Any]:
    names = system.LIBRARIES.get(sys.platform, (None, ctypes.util.find_library("m") or None))
    libraries = [*map(ctypes.CDLL, names)]
    if sys.platform == "win32":
        # "python" is only a label here. The handle is that of the DLL of the running interpreter.
        libraries.append(ctypes.CDLL("python", handle=sys.dllhandle))
    return libraries


@functools.cache
def _resolve(name: str) -> None:
    """Look up the address of a C function by its name, and tell it to LLVM, so that compiled code can call it.

    Raise a CompileError if the system has no such function. Without this check, LLVM would end the process for a
    missing function.
    """
    if llvm.address_of_symbol(name):
        return
    library_name = system.OTHER_NAMES.get(sys.platform, {}).get(name, name)
    for library in _libraries():
        if hasattr(library, library_name):
            llvm.add_symbol(name, ctypes.cast(getattr(library, library_name), ctypes.c_void_p).value)
            return
    raise CompileError(f"compiled code needs the function {name}, which this system does not have")
