"""C++ names: demangled like c++filt, and as Python identifiers."""

from __future__ import annotations

import pytest

from pyptx_transpile.reading.mangled import plain, signature

NAMES = {
    "_Z5scaleB2v1B3cw5f": ("scale", "scale[abi:v1][abi:cw5](float)"),
    "_Z5scaleB3cw5B2v1f": ("scale", "scale[abi:cw5][abi:v1](float)"),
    "_Z4copyPVKiPf": ("copy", "copy(int const volatile*, float*)"),
    "_Z5widenDv2_f": ("widen", "widen(float __vector(2))"),
    "_Z5applyIZ6launchPfEUlfE_EvT_": (
        "apply",
        "void apply<launch(float*)::{lambda(float)#1}>(launch(float*)::{lambda(float)#1})",
    ),
    "_Z3sumIJPKfPKiEEvPfDpT_": ("sum", "void sum<float const*, int const*>(float*, float const*, int const*)"),
    "_Z3addI1AILi3EEEvT_": ("add", "void add<A<3> >(A<3>)"),
    "_ZN3BoxC1Ev": ("Box", "Box::Box()"),
    "_ZNK3BoxclIfEET_S1_": ("operator", "float Box::operator()<float>(float) const"),
    "_ZN3BoxD1Ev": ("_ZN3BoxD1Ev", "Box::~Box()"),  # a destructor: `~Box` is not an identifier
    "_ZGVZ1fvE1x": ("x", "guard variable for f()::x"),
    "_Z1fPf_param_0": ("_Z1fPf_param_0", None),
    "f": ("f", None),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_mangled_name_reads_as_in_cpp(name: str) -> None:
    assert (plain(name), signature(name)) == NAMES[name]
