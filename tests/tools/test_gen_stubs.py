import ast

import gen_stubs
import pytest

OUT = {"name": "output", "hidden": False}
DATA = {"name": "data", "kind": "required"}


def row(**fields):
    plain = {"name": "f", "doc": "Does f.", "inputs": [], "attrs": [], "outputs": [OUT], "faces": {"nd": ["f"]}}
    return {**plain, **fields}


def signature(**fields):
    """The generated signature of the only function, parsed and printed by Python itself."""
    tree = ast.parse(gen_stubs.generate([row(**fields)]))
    (function,) = tree.body[0].body
    return f"{ast.unparse(function.args)} -> {ast.unparse(function.returns)}"


def test_inputs_attributes_and_defaults():
    text = signature(
        inputs=[DATA, {"name": "lambda", "kind": "optional"}],
        attrs=[
            {"name": "axis", "kind": "int | Sequence[int] | None", "default": None},
            {"name": "keepdims", "kind": "bool", "default": False},
        ],
    )
    assert text == (
        "data: ArrayLike, lambda_: ArrayLike | None=None, axis: int | Sequence[int] | None=None, keepdims: bool=False, "
        "*, out: NDArray | None=None -> NDArray"
    )


def test_required_attribute_after_something_optional_is_a_keyword():
    text = signature(inputs=[{"name": "x", "kind": "optional"}], attrs=[{"name": "n", "kind": "int"}])
    assert text == "x: ArrayLike | None=None, *, n: int, out: NDArray | None=None -> NDArray"


def test_variadic_inputs_make_the_rest_keywords():
    inputs, attrs = [{"name": "data", "kind": "variadic"}], [{"name": "dim", "kind": "int", "default": 1}]
    text = signature(inputs=inputs, attrs=attrs)
    assert text == "*data: ArrayLike, dim: int=1, out: NDArray | None=None -> NDArray"


def test_outputs():
    assert signature(outputs=[OUT, {"name": "saved", "hidden": True}]).endswith("-> NDArray")
    assert signature(outputs=[OUT, OUT]).endswith("-> tuple[NDArray, NDArray]")
    assert signature(varies=True).endswith("-> NDArray | list[NDArray]")


def test_ops_that_create_take_a_device():
    assert signature(creates=True).startswith("*, ctx: Context | str | None=None, out:")


def test_method_takes_self_for_the_first_input():
    text = signature(inputs=[DATA, {"name": "y", "kind": "required"}], faces={"methods": ["f"]})
    assert text == "self, y: ArrayLike, *, out: NDArray | None=None -> NDArray"


def test_faces_that_differ():
    attrs = [
        {"name": "dim", "np_name": "axis", "kind": "int", "default": 1, "np_default": 0},
        {"name": "exclude", "kind": "bool", "default": False, "np": False},
    ]
    assert "dim: int=1, exclude: bool=False" in signature(attrs=attrs, faces={"nd": ["f"]})
    np_face = signature(attrs=attrs, faces={"np": ["f"]})
    assert np_face.startswith("axis: int=0, *")


def test_defaults_without_a_literal():
    assert "p: float=..." in signature(attrs=[{"name": "p", "kind": "float", "default": float("inf")}])


def test_names_and_classes():
    text = gen_stubs.generate([row(faces={"nd": ["f", "g"], "np": ["h"]}), row(faces={"nd": ["e"]})])
    assert [(c.name, [f.name for f in c.body]) for c in ast.parse(text).body] == [
        ("NdOps", ["e", "f", "g"]),
        ("NpOps", ["h"]),
    ]


def test_long_signatures_are_broken():
    text = gen_stubs.generate([row(attrs=[{"name": f"attr_{i}", "kind": "float", "default": 0.5} for i in range(9)])])
    assert max(map(len, text.splitlines())) <= gen_stubs.WIDTH


def test_docs_with_quotes_and_backslashes():
    ast.parse(gen_stubs.generate([row(doc='Says """\\d""".\n\n    More.')]))


def test_unknown_kind_is_named():
    with pytest.raises(SystemExit, match="input data of f is of unknown kind 'odd'"):
        signature(inputs=[{"name": "data", "kind": "odd"}])


def test_hand_written_part_is_kept():
    first = gen_stubs.whole("class NDArray: ...\n\n", [row()])
    assert first.startswith("class NDArray: ...\n\n" + gen_stubs.MARKER)
    assert gen_stubs.whole(first, [row()]) == first
