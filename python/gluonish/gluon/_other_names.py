"""What MXNet and torch call the parameters of layers in files, where it is not what the layers here call them."""

import re
from collections.abc import Collection

__all__ = ["here", "in_mxnet"]

# MXNet's recurrent layers: `_unfused.0.i2h_weight`, in two directions `_unfused.0.r_cell.i2h_weight`.
_UNFUSED = re.compile(r"(?<![^.])_unfused\.(\d+)\.(?:([lr])_cell\.)?(?=\w+$)")
_FUSED = re.compile(r"(?<![^.])([lr])(\d+)_(?=(i2h|h2h|h2r)_(weight|bias)$)")
# Torch's: `weight_ih_l0`, backwards `weight_ih_l0_reverse`; of cells `weight_ih`.
_TORCH = re.compile(r"(?<![^.])(weight|bias)_(ih|hh|hr)(?:_l(\d+)(_reverse)?)?$")
_PRODUCTS = {"ih": "i2h", "hh": "h2h", "hr": "h2r"}
_OF_NORMS = {"weight": "gamma", "bias": "beta"}


def here(name: str, paths: Collection[str]) -> str | None:
    """The path that a name of a file of MXNet or torch means, of those that there are; else the name itself.

    None is for what torch counts and nobody here needs.

    >>> here("bn.weight", ["bn.gamma", "bn.beta"])
    'bn.gamma'
    >>> here("rnn.weight_hh_l1_reverse", ["rnn.r1_h2h_weight"])
    'rnn.r1_h2h_weight'
    >>> here("rnn._unfused.0.i2h_bias", ["rnn.l0_i2h_bias"])
    'rnn.l0_i2h_bias'
    """
    block, dot, last = name.rpartition(".")
    if last == "num_batches_tracked" and f"{block}{dot}running_mean" in paths:
        return None
    found = [
        f"{block}{dot}{_OF_NORMS.get(last, last)}",
        _UNFUSED.sub(lambda m: f"{m[2] or 'l'}{m[1]}_", name),
        _TORCH.sub(_fused, name),
    ]
    return next((path for path in found if path in paths), name)


def _fused(torch: re.Match[str]) -> str:
    kind, product, layer, backwards = torch.groups()
    where = "" if layer is None else f"{'r' if backwards else 'l'}{layer}_"
    return f"{where}{_PRODUCTS[product]}_{kind}"


def in_mxnet(name: str, paths: Collection[str]) -> str:
    """The name that MXNet's ``load_parameters`` looks for.

    >>> in_mxnet("rnn.l0_i2h_bias", ["rnn.l0_i2h_bias"])
    'rnn._unfused.0.i2h_bias'
    >>> in_mxnet("l1_i2h_bias", ["l1_i2h_bias", "r1_i2h_bias"])
    '_unfused.1.l_cell.i2h_bias'
    """
    found = _FUSED.search(name)
    if found is None:
        return name
    direction, layer, *_ = found.groups()
    both = f"{name[: found.start()]}r{layer}_{name[found.end() :]}" in paths
    return f"{name[: found.start()]}_unfused.{layer}.{f'{direction}_cell.' if both else ''}{name[found.end() :]}"
