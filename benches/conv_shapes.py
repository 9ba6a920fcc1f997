"""The convolutions of some networks: every distinct shape once, with the networks that have it."""

from typing import NamedTuple


class Layer(NamedTuple):
    """Channels, side of the images, filters, stride and padding."""

    inputs: int
    outputs: int
    side: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    pad: tuple[int, int] = (0, 0)
    groups: int = 1

    @property
    def name(self) -> str:
        stride = f"s{self.stride}" if self.stride > 1 else ""
        valid = "v" if self.kernel != (1, 1) and self.pad == (0, 0) else ""
        return f"{self.kernel[0]}x{self.kernel[1]}{stride}{valid}_{self.inputs}_{self.outputs}_{self.side}"

    @property
    def out(self) -> tuple[int, int]:
        height, width = (self.side + 2 * p - k for k, p in zip(self.kernel, self.pad, strict=True))
        return height // self.stride + 1, width // self.stride + 1

    @property
    def is_first(self) -> bool:
        return self.inputs == 3

    @property
    def is_plain_3x3(self) -> bool:
        return self.kernel == (3, 3) and self.stride == 1


def _same(inputs: int, outputs: int, side: int, *kernel: int, stride: int = 1) -> Layer:
    """Padded so that without a stride the size stays."""
    h, w = kernel if len(kernel) == 2 else kernel * 2
    return Layer(inputs, outputs, side, (h, w), stride, (h // 2, w // 2))


def _resnet18() -> list[Layer]:
    layers = [_same(3, 64, 224, 7, stride=2), _same(64, 64, 56, 3)]
    for c, side in ((64, 56), (128, 28), (256, 14)):
        layers += [
            _same(c, 2 * c, side, 3, stride=2),
            Layer(c, 2 * c, side, stride=2),
            _same(2 * c, 2 * c, side // 2, 3),
        ]
    return layers


def _resnet50() -> list[Layer]:
    layers = [_same(3, 64, 224, 7, stride=2), Layer(64, 64, 56)]
    for c, side in ((64, 56), (128, 28), (256, 14), (512, 7)):
        layers += [_same(c, c, side, 3), Layer(c, 4 * c, side), Layer(4 * c, c, side)]
        if side > 7:
            layers += [Layer(4 * c, 2 * c, side, stride=2), Layer(4 * c, 8 * c, side, stride=2)]
    return layers


def _vgg16() -> list[Layer]:
    pairs = [(3, 64, 224), (64, 64, 224), (64, 128, 112), (128, 128, 112), (128, 256, 56), (256, 256, 56)]
    pairs += [(256, 512, 28), (512, 512, 28), (512, 512, 14)]
    return [_same(i, o, side, 3) for i, o, side in pairs]


def _inception3() -> list[Layer]:
    three = (3, 3)
    layers = [Layer(3, 32, 299, three, 2), Layer(32, 32, 149, three), _same(32, 64, 147, 3), Layer(64, 80, 73)]
    layers += [Layer(80, 192, 73, three), _same(48, 64, 35, 5), _same(64, 96, 35, 3), _same(96, 96, 35, 3)]
    layers += [Layer(i, o, 35) for i in (192, 256, 288) for o in (64, 48)] + [Layer(192, 32, 35)]
    layers += [Layer(288, 384, 35, three, 2), Layer(96, 96, 35, three, 2)]
    layers += [Layer(768, o, 17) for o in (128, 160, 192)]
    layers += [_same(c, c, 17, *k) for c in (128, 160, 192) for k in ((1, 7), (7, 1))]
    layers += [_same(c, 192, 17, *k) for c in (128, 160) for k in ((1, 7), (7, 1))]
    layers += [Layer(192, o, 17, three, 2) for o in (192, 320)]
    layers += [Layer(i, o, 8) for i in (1280, 2048) for o in (192, 320, 384, 448)]
    layers += [_same(384, 384, 8, *k) for k in ((1, 3), (3, 1))] + [_same(448, 384, 8, 3)]
    return layers


NETWORKS = {"resnet18": _resnet18(), "resnet50": _resnet50(), "vgg16": _vgg16(), "inception3": _inception3()}
LAYERS = sorted({layer for layers in NETWORKS.values() for layer in layers})


def _apart(channels: int, side: int, kernel: int = 3, stride: int = 1) -> Layer:
    """A filter for each channel."""
    return _same(channels, channels, side, kernel, stride=stride)._replace(groups=channels)


def _mobilenet1() -> list[Layer]:
    layers = [_apart(32, 112), _apart(64, 112, stride=2), _apart(1024, 7)]
    for c, side in ((128, 56), (256, 28), (512, 14)):
        layers += [_apart(c, side), _apart(c, side, stride=2)]
    return layers


def _mobilenet2() -> list[Layer]:
    layers = [_apart(32, 112), _apart(96, 112, stride=2), _apart(384, 14), _apart(960, 7)]
    for c, side in ((144, 56), (192, 28), (576, 14)):
        layers += [_apart(c, side), _apart(c, side, stride=2)]
    return layers


def _mobilenet3() -> list[Layer]:
    layers = [_apart(16, 112), _apart(64, 112, stride=2), _apart(72, 56), _apart(240, 28, stride=2)]
    layers += [_apart(c, 14) for c in (184, 200, 480, 672)]
    layers += [_apart(72, 56, 5, 2), _apart(120, 28, 5), _apart(672, 14, 5, 2), _apart(960, 7, 5)]
    return layers


MOBILE = {"mobilenet1": _mobilenet1(), "mobilenet2": _mobilenet2(), "mobilenet3": _mobilenet3()}
