"""Learning-rate schedules: boundaries as MXNet has them, curves against their published formulas, state, errors."""

from __future__ import annotations

import copy
import json
import math
import pickle
from itertools import pairwise

import pytest

import gluonish as mx
from gluonish import lr_scheduler as lrs
from gluonish.lr_scheduler.base import REGISTRY

# For every name: arguments, and the rates of some updates, computed by hand or from the formula.
SAMPLES = {
    "factor": [
        ({"step": 2, "factor": 0.5, "base_lr": 1}, {0: 1, 1: 1, 2: 1, 3: 0.5, 4: 0.5, 5: 0.25}),
        ({"step": 1, "factor": 0.1, "base_lr": 1, "stop_factor_lr": 0.05}, {1: 1, 2: 0.1, 3: 0.05, 1000: 0.05}),
        ({"step": 3, "base_lr": 0.2}, {1: 0.2, 100: 0.2}),
        (
            {"step": 2, "factor": 0.5, "base_lr": 1, "warmup_steps": 4, "warmup_begin_lr": 0.2},
            {0: 0.2, 1: 0.4, 3: 0.8, 4: 0.5, 5: 0.25, 6: 0.25, 7: 0.125},
        ),
    ],
    "multifactor": [
        ({"step": [2, 4], "factor": 0.1, "base_lr": 1}, {1: 1, 2: 1, 3: 0.1, 4: 0.1, 5: 0.01, 99: 0.01}),
        ({"step": (5,), "factor": 0.5}, {5: 0.01, 6: 0.005}),
    ],
    "poly": [
        ({"max_update": 10, "base_lr": 2}, {t: 2 * (1 - t / 10) ** 2 for t in range(11)} | {50: 0}),
        (
            {"max_update": 12, "base_lr": 1, "pwr": 3, "final_lr": 0.5, "warmup_steps": 2},
            {0: 0, 1: 0.5} | {t: 0.5 + 0.5 * (1 - (t - 2) / 10) ** 3 for t in range(2, 13)},
        ),
    ],
    "cosine": [
        ({"max_update": 8, "base_lr": 2}, {t: 1 + math.cos(math.pi * t / 8) for t in range(9)} | {9: 0}),
        (
            {"max_update": 8, "base_lr": 1, "final_lr": 0.1, "warmup_steps": 4, "warmup_mode": "constant"},
            {0: 0, 3: 0, 4: 1, 6: 0.55, 8: 0.1, 80: 0.1},
        ),
    ],
    "cosine_warm_restarts": [
        ({"cycle": 4, "base_lr": 1}, {t: (1 + math.cos(math.pi * (t % 4) / 4)) / 2 for t in range(13)}),
        ({"cycle": 2, "mult": 3, "base_lr": 1}, {0: 1, 1: 0.5, 2: 1, 5: 0.5, 8: 1, 17: 0.5, 26: 1}),
        ({"cycle": 2, "base_lr": 1, "decay": 0.5, "final_lr": 0.1, "warmup_steps": 3}, {3: 1, 5: 0.5, 6: 0.3, 7: 0.25}),
    ],
    "exponential": [
        ({"gamma": 0.9, "base_lr": 1}, {t: 0.9**t for t in range(5)}),
        ({"gamma": 0.5, "base_lr": 1, "warmup_steps": 2}, {0: 0, 1: 0.5, 2: 1, 4: 0.25}),
    ],
    "inverse_square_root": [
        # The Transformer's rate, d**-0.5 * min(t**-0.5, t * w**-1.5), has its top d**-0.5 * w**-0.5 at t = w.
        (
            {"base_lr": 0.25 * 25**-0.5, "warmup_steps": 25},
            {t: 0.25 * min(t**-0.5, t * 25**-1.5) for t in range(1, 200)},
        ),
        ({"base_lr": 1}, {0: 1, 1: 1, 4: 0.5, 100: 0.1}),
    ],
    "one_cycle": [
        (
            {"max_update": 10, "base_lr": 1, "pct_start": 0.4, "div_factor": 5, "final_div_factor": 2},
            {0: 0.2, 2: 0.6, 4: 1.0, 7: 0.55, 10: 0.1, 30: 0.1},
        ),
        (
            {"max_update": 10, "base_lr": 1, "anneal_strategy": "linear", "pct_start": 0.5, "div_factor": 2},
            {0: 0.5, 1: 0.6, 4: 0.9, 5: 1.0, 6: 0.80001, 10: 0.00005},
        ),
        ({"max_update": 4, "base_lr": 1, "pct_start": 1}, {0: 0.04, 2: 0.52, 4: 1.0, 5: 1.0}),
    ],
    "reduce_on_plateau": [
        ({"base_lr": 0.5, "warmup_steps": 2}, {0: 0, 1: 0.25, 2: 0.5, 1000: 0.5}),
    ],
}
NAMES = REGISTRY.names()
CASES = [(name, kwargs, rates) for name, samples in SAMPLES.items() for kwargs, rates in samples]
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]


@pytest.mark.parametrize("name", NAMES)
def test_every_scheduler_has_a_sample(name):
    sampled = {REGISTRY.find(short) for short in SAMPLES}
    assert REGISTRY.find(name) in sampled, f"{name} has no sample: add a line to SAMPLES"


def test_every_class_is_registered():
    classes = {getattr(lrs, n) for n in lrs.__all__ if isinstance(getattr(lrs, n), type)} - {lrs.LRScheduler}
    assert classes == {REGISTRY.find(name) for name in NAMES}


@pytest.mark.parametrize(("name", "kwargs", "rates"), CASES, ids=IDS)
def test_rates(name, kwargs, rates):
    schedule = mx.lr_scheduler.create(name, **kwargs)
    assert {t: schedule(t) for t in rates} == pytest.approx(rates, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("name", "kwargs", "rates"), CASES, ids=IDS)
def test_rates_do_not_depend_on_the_order_of_calls(name, kwargs, rates):
    forward, back = lrs.create(name, **kwargs), lrs.create(name, **kwargs)
    assert [forward(t) for t in rates] == [back(t) for t in reversed(rates)][::-1]


@pytest.mark.parametrize(("name", "kwargs", "rates"), CASES, ids=IDS)
def test_copies_and_state(name, kwargs, rates):
    schedule = lrs.create(name, **kwargs)
    schedule.base_lr *= 2  # as an optimizer with a rate of its own does
    other = lrs.create(name, **kwargs)
    other.load_state_dict(json.loads(json.dumps(schedule.state_dict())))
    for again in (other, pickle.loads(pickle.dumps(schedule)), copy.deepcopy(schedule)):
        assert [again(t) for t in rates] == [schedule(t) for t in rates]
        assert again.state_dict() == schedule.state_dict()


@pytest.mark.parametrize(
    ("name", "kwargs", "rates"),
    [case for case in CASES if not {"final_lr", "warmup_begin_lr", "stop_factor_lr"} & set(case[1])],
)
def test_base_lr_scales_the_schedule(name, kwargs, rates):
    """An optimizer's learning rate takes the place of base_lr, warm-up included, if no rate is fixed."""
    schedule = lrs.create(name, **kwargs)
    before = [schedule(t) for t in rates]
    schedule.base_lr *= 3
    assert [schedule(t) for t in rates] == pytest.approx([3 * r for r in before])


@pytest.mark.parametrize("name", SAMPLES)
def test_updates_that_are_none(name):
    schedule = lrs.create(name, **SAMPLES[name][0][0])
    for t in (-1, 1.5, "1", None):
        with pytest.raises(ValueError, match=f"num_update={t!r}"):
            schedule(t)


@pytest.mark.parametrize("name", ["poly", "cosine", "one_cycle"])
def test_zero_rate(name):
    assert lrs.create(name, max_update=5, base_lr=0)(3) == 0


BAD = [
    (lambda: lrs.FactorScheduler(0), "step=0"),
    (lambda: lrs.FactorScheduler(1.5), "step=1.5"),
    (lambda: lrs.FactorScheduler(1, 1.1), "factor=1.1 is above 1"),
    (lambda: lrs.MultiFactorScheduler([]), "expected a list"),
    (lambda: lrs.MultiFactorScheduler(3), "expected a list"),
    (lambda: lrs.MultiFactorScheduler([2, 2]), "a list that rises"),
    (lambda: lrs.MultiFactorScheduler([0, 2]), "at least 1"),
    (lambda: lrs.MultiFactorScheduler([1], 2), "factor=2"),
    (lambda: lrs.PolyScheduler(0), "max_update=0"),
    (lambda: lrs.CosineScheduler(5, warmup_steps=5), "warmup_steps=5 is not below max_update=5"),
    (lambda: lrs.CosineScheduler(5, warmup_steps=-1), "warmup_steps=-1"),
    (lambda: lrs.CosineScheduler(5, warmup_begin_lr=1), "warmup_begin_lr=1 is above base_lr=0.01"),
    (lambda: lrs.CosineScheduler(5, warmup_mode="sine"), "warmup_mode='sine'"),
    (lambda: lrs.ExponentialScheduler(0), "gamma=0"),
    (lambda: lrs.CosineWarmRestartsScheduler(0), "cycle=0"),
    (lambda: lrs.CosineWarmRestartsScheduler(3, mult=0), "mult=0"),
    (lambda: lrs.OneCycleScheduler(3, pct_start=2), "pct_start=2"),
    (lambda: lrs.OneCycleScheduler(3, anneal_strategy="cosine"), "anneal_strategy='cosine'"),
    (lambda: lrs.OneCycleScheduler(3, div_factor=0.5), "div_factor=0.5"),
    (lambda: lrs.ReduceOnPlateauScheduler("less"), "mode='less'"),
    (lambda: lrs.ReduceOnPlateauScheduler(threshold_mode="x"), "threshold_mode='x'"),
    (lambda: lrs.ReduceOnPlateauScheduler(factor=1), "factor=1"),
    (lambda: lrs.ReduceOnPlateauScheduler(patience=-1), "patience=-1"),
    (lambda: lrs.create("cosin"), "did you mean .*cosine"),
    (lambda: lrs.FactorScheduler(2).load_state_dict({"step": 2}), "not the state"),
    (lambda: lrs.LRScheduler(warmup_steps=2).get_warmup_lr(2), "num_update=2 is not one of the 2"),
]


@pytest.mark.parametrize(("make", "says"), BAD)
def test_bad_arguments(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_base_class_has_no_schedule():
    with pytest.raises(NotImplementedError, match="_rate"):
        lrs.LRScheduler()(1)
    assert lrs.LRScheduler(warmup_steps=2, base_lr=1)(1) == 0.5


def test_one_of_your_own_may_override_the_call():
    class Mine(lrs.LRScheduler):
        def __call__(self, num_update):
            return num_update * self.base_lr

    assert Mine(base_lr=0.5)(4) == 2
    assert lrs.create(mine := Mine()) is mine


def plateau(losses, **kwargs):
    schedule = lrs.ReduceOnPlateauScheduler(base_lr=1, **kwargs)
    rates = []
    for loss in losses:
        schedule.step(loss)
        rates.append(schedule(1))
    return rates


@pytest.mark.parametrize(
    ("losses", "kwargs", "rates"),
    [
        ([3, 2, 2, 2, 2, 2], {"factor": 0.5, "patience": 1}, [1, 1, 1, 0.5, 0.5, 0.25]),
        ([3, 2, 2, 2, 2, 2, 2], {"factor": 0.5, "patience": 0, "cooldown": 2}, [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]),
        ([1, 2, 2, 3], {"factor": 0.5, "patience": 0, "mode": "max"}, [1, 1, 0.5, 0.5]),
        ([100, 99.5, 98], {"factor": 0.5, "patience": 0, "threshold": 0.01}, [1, 0.5, 0.5]),
        ([-100, -100.5, -102], {"factor": 0.5, "patience": 0, "threshold": 0.01}, [1, 0.5, 0.5]),
        ([5, 4.5, 3], {"factor": 0.5, "patience": 0, "threshold": 1, "threshold_mode": "abs"}, [1, 0.5, 0.5]),
        ([1, 1, 1, 1], {"factor": 0.1, "patience": 0, "min_lr": 0.05}, [1, 0.1, 0.05, 0.05]),
        ([math.nan, math.nan, 1, math.nan], {"factor": 0.5, "patience": 0}, [0.5, 0.25, 0.25, 0.125]),
    ],
)
def test_plateau(losses, kwargs, rates):
    assert plateau(losses, **kwargs) == rates
    assert plateau([mx.nd.array(loss) for loss in losses], **kwargs) == rates


def test_plateau_resumes_where_it_was():
    first = lrs.ReduceOnPlateauScheduler(factor=0.5, patience=2, base_lr=1)
    for loss in (3, 3, 3):
        first.step(loss)
    second = lrs.ReduceOnPlateauScheduler(factor=0.5, patience=2, base_lr=1)
    second.load_state_dict(first.state_dict())
    for schedule in (first, second):
        schedule.step(3)
        assert schedule(1) == 0.5


def test_one_cycle_rises_then_falls():
    schedule = lrs.OneCycleScheduler(100, base_lr=1)
    rates = [schedule(t) for t in range(101)]
    assert rates.index(max(rates)) == 30
    assert all(a < b for a, b in pairwise(rates[:31]))
    assert all(a > b for a, b in pairwise(rates[30:]))


def test_repr_names_the_arguments():
    assert "gamma=0.5, " not in repr(lrs.FactorScheduler(2))
    assert repr(lrs.ExponentialScheduler(0.5)).startswith("ExponentialScheduler(base_lr=0.01")
