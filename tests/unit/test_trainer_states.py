"""States of trainers in files: training goes on exactly, and nothing that is wrong with a file changes a trainer."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import gluonish as mx
from gluonish import _core, amp, autograd, errors, gluon, nd
from gluonish.gluon import Trainer, nn

TWO = [mx.cpu(0), mx.cpu(1)]
ADAM = {"learning_rate": 0.05, "wd": 0.01}


def network(ctx=None, units=3):
    mx.random.seed(5)
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu", in_units=5), nn.BatchNorm(in_channels=4), nn.Dense(units, in_units=4))
    net.initialize(mx.init.Xavier(), ctx=ctx)
    return net


def train(net, trainer, batches):
    for batch in batches:
        x = np.random.default_rng(batch).normal(size=(8, 5))
        with autograd.record():
            losses = [(net(part) ** 2).sum(axis=1) for part in gluon.utils.split_and_load(x, net[0].weight.list_ctx())]
        autograd.backward(losses)
        trainer.step(8)


def values(net):
    """What is trained; running statistics of several devices are averaged in files."""
    trained = (p for p in net.collect_params().values() if p.grad_req != "null")
    return {p.name: p.data(p.list_ctx()[0]).asnumpy() for p in trained}


def same(one, other):
    assert all((a == b).all() for a, b in zip(one.values(), other.values(), strict=True))


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", ["sgd", "adam", "lamb", "adamw", "lion", "rmsprop"])
@pytest.mark.parametrize(("ctx", "on_store"), [(None, None), (TWO, True), (TWO, False)])
def test_training_goes_on_exactly(name, ctx, on_store, tmp_path):
    options = {"learning_rate": 0.05} if name != "sgd" else {"learning_rate": 0.05, "momentum": 0.9}
    net = network(ctx)
    trainer = Trainer(net, name, options, update_on_kvstore=on_store)
    train(net, trainer, range(3))
    net.save_parameters(tmp_path / "net.safetensors")
    trainer.save_states(tmp_path / "states")
    train(net, trainer, range(3, 6))

    again = network(ctx)
    again.load_parameters(tmp_path / "net.safetensors")
    resumed = Trainer(again, name, {"learning_rate": 7.0}, update_on_kvstore=on_store)
    resumed.load_states(tmp_path / "states")
    assert resumed.learning_rate == 0.05
    assert resumed.optimizer.num_update == 3
    train(again, resumed, range(3, 6))
    same(values(net), values(again))


def test_states_go_from_one_device_to_two(tmp_path):
    """Adam counts updates by device: those of a device that the file does not know go on as well."""
    one, two = network(), network(TWO)
    first, second = Trainer(one, "adam", ADAM), Trainer(two, "adam", ADAM, update_on_kvstore=False)
    train(one, first, range(3))
    one.save_parameters(tmp_path / "net.safetensors")
    first.save_states(tmp_path / "states")
    two.load_parameters(tmp_path / "net.safetensors")
    second.load_states(tmp_path / "states")
    assert [second.optimizer._all_index_update_counts[i][0] for i in (0, 1)] == [3, 3]


@pytest.mark.parametrize("on_store", [None, False])
def test_counts_go_on_where_training_moves(on_store, tmp_path):
    """There and back, to two devices, and from a file that was saved elsewhere: bits as if nothing had moved."""
    still, moved = network(), network()
    first, second = Trainer(still, "adam", ADAM), Trainer(moved, "adam", ADAM, update_on_kvstore=on_store)
    batches = 0
    for ctx, steps in ((TWO[0], 2), (TWO[1], 4), (TWO[0], 1), (TWO[1], 2)):
        moved.reset_ctx(ctx)
        for net, trainer in ((still, first), (moved, second)):
            train(net, trainer, range(batches, batches + steps))
        batches += steps
        same(values(still), values(moved))
    second.save_states(tmp_path / "states")
    moved.save_parameters(tmp_path / "net.safetensors")
    for ctx in (TWO[0], TWO):
        again = network(ctx)
        again.load_parameters(tmp_path / "net.safetensors")
        resumed = Trainer(again, "adam", ADAM, update_on_kvstore=on_store)
        resumed.load_states(tmp_path / "states")
        assert {count for own in resumed.optimizer._all_index_update_counts.values() for count in own.values()} == {9}
        train(again, resumed, [9])
        assert resumed.optimizer.num_update == 10


def test_a_schedule_goes_on(tmp_path):
    def trainer_of(net):
        schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
        return Trainer(net, "sgd", {"lr_scheduler": schedule})

    net = network()
    trainer = trainer_of(net)
    train(net, trainer, range(3))
    trainer.save_states(tmp_path / "states")
    resumed = trainer_of(net)
    resumed.load_states(tmp_path / "states")
    assert resumed.learning_rate == trainer.learning_rate == 0.5


def test_a_schedule_is_not_lost(tmp_path):
    net = network()
    trainer = Trainer(net, "sgd", {"lr_scheduler": mx.lr_scheduler.FactorScheduler(step=2, base_lr=1.0)})
    train(net, trainer, range(3))
    trainer.save_states(tmp_path / "states")
    plain = Trainer(net, "sgd", {"learning_rate": 0.25})
    with pytest.raises(errors.FormatError, match=r"states': .*scheduler FactorScheduler, and the optimizer has none"):
        plain.load_states(tmp_path / "states")
    assert (plain.learning_rate, plain.optimizer.num_update) == (0.25, 0)


def test_a_schedule_can_begin_where_there_was_none(tmp_path):
    net = network()
    trainer = Trainer(net, "sgd", {"learning_rate": 1.0})
    train(net, trainer, range(3))
    trainer.save_states(tmp_path / "states")
    scheduled = Trainer(net, "sgd", {"lr_scheduler": mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=8.0)})
    scheduled.load_states(tmp_path / "states")
    assert scheduled.learning_rate == 4.0  # of update 3


# Which states are whose.


def two_layers(swap=False):
    """Two layers of one shape, and a trainer over their weights."""
    layers = [nn.Dense(2, in_units=2, use_bias=False) for _ in range(2)]
    for layer in layers:
        layer.initialize()
    order = layers[::-1] if swap else layers
    trainer = Trainer([layer.weight for layer in order], "sgd", {"momentum": 0.9})
    for value, layer in enumerate(layers):
        layer.weight.grad()[:] = value + 1
    trainer.step(1)
    return layers, trainer


@pytest.mark.parametrize("same_layers", [True, False])
def test_states_of_another_order_are_refused(same_layers, tmp_path):
    layers, trainer = two_layers()
    trainer.save_states(tmp_path / "states")
    if same_layers:
        other = Trainer([layer.weight for layer in layers[::-1]], "sgd", {"momentum": 0.9})
    else:
        _, other = two_layers(swap=True)
    before = {key: state.asnumpy() for key, state in other._updaters[0].states.items()}
    with pytest.raises(errors.FormatError, match=r"weight 0 was 'dense\d+_weight' and is 'dense\d+_weight' now"):
        other.load_states(tmp_path / "states")
    assert all((other._updaters[0].states[key].asnumpy() == value).all() for key, value in before.items())


def test_states_of_the_same_order_are_taken_whatever_the_counters(tmp_path):
    _, trainer = two_layers()
    trainer.save_states(tmp_path / "states")
    _, other = two_layers()  # dense2_weight where the file says dense0_weight
    other.load_states(tmp_path / "states")
    names = [nn.Dense(2, in_units=2, use_bias=False, prefix=prefix) for prefix in ("encoder_", "decoder_")]
    for layer in names:
        layer.initialize()
    renamed = Trainer([layer.weight for layer in names], "sgd", {"momentum": 0.9})
    renamed.load_states(tmp_path / "states")
    assert renamed._updaters[0].states[1].asnumpy().tolist() == trainer._updaters[0].states[1].asnumpy().tolist()


def test_files_without_names_are_read(tmp_path):
    _, trainer = two_layers()
    trainer.save_states(tmp_path / "states")
    _, names, arrays, texts = _core.load_bytes((tmp_path / "states").read_bytes(), 0)
    header = json.loads(texts["gluonish.optimizer"])
    assert len(header.pop("names")) == 2
    old = _core.save_bytes("safetensors", names, arrays, [("gluonish.optimizer", json.dumps(header))])
    (tmp_path / "old").write_bytes(old)
    _, other = two_layers(swap=True)
    other.load_states(tmp_path / "old")  # nothing tells that it is wrong
    assert other.optimizer.num_update == 1


def test_names_decide_about_states_of_muon(tmp_path):
    def trainer_of(net):
        return Trainer(net, "muon", {"adamw_match": ".*out_"})

    net = nn.HybridSequential(prefix="")
    net.add(nn.Dense(4, in_units=5), nn.Dense(3, in_units=4, prefix="out_"))
    net.initialize()
    trainer = trainer_of(net)
    for parameter in net.collect_params().values():
        parameter.grad()[:] = 1
    trainer.step(1)
    trainer.save_states(tmp_path / "states")
    resumed = trainer_of(net)
    resumed.load_states(tmp_path / "states")
    assert [len(state) for state in resumed._updaters[0].states.values()] == [1, 2, 2, 2]


def test_the_factor_of_the_loss_goes_on(tmp_path):
    net = network()
    with amp.init("float16"):
        trainer, other = Trainer(net, "sgd"), Trainer(net, "sgd")
        amp.init_trainer(trainer)
        trainer._amp_loss_scaler.settle([nd.array([float("inf")])])
        trainer.save_states(tmp_path / "states")
        with pytest.raises(errors.FormatError, match="init_trainer"):
            other.load_states(tmp_path / "states")
        amp.init_trainer(other)
        other.load_states(tmp_path / "states")
        assert other._amp_loss_scaler.loss_scale == 2.0**15


# Files that do not fit.


def hostile(folder):
    """Files by what is wrong with them."""
    net = network()
    trainer = Trainer(net, "adam", ADAM)
    train(net, trainer, range(2))
    good = folder / "good"
    trainer.save_states(good)
    data = good.read_bytes()
    files = {
        "empty": b"",
        "cut": data[: len(data) // 2],
        "one byte short": data[:-1],
        "damaged header": data[:8] + b"}" + data[9:],
        "text": b"not states",
        "pickled": pickle.dumps({0: None}),
        "code": b"cos\nsystem\n(S'echo hacked'\ntR.",
        "huge header": (2**62).to_bytes(8, "little") + data[8:],
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    nd.save(folder / "arrays.safetensors", {"w": nd.ones(2)})
    nd.save(folder / "arrays.params", {"w": nd.ones(2)})
    net.save_parameters(folder / "net.safetensors")
    other = network(units=2)
    more = Trainer(other, "adam", ADAM)
    train(other, more, range(2))
    more.save_states(folder / "other network")
    sgd = Trainer(net, "sgd", {"momentum": 0.9})
    train(net, sgd, range(1))
    sgd.save_states(folder / "other optimizer")
    _, names, arrays, texts = _core.load_bytes(data, 0)
    for change, text in {
        "other keys": lambda t: t.replace('"states": [[0,', '"states": [[99,'),
        "no header": lambda t: "{}",
        "wrong counts": lambda t: t.replace('"num_update": 2', '"num_update": "two"'),
        "state of code": lambda t: t.replace('{"array": 0}', '{"python/object": "os.system"}'),
    }.items():
        written = [(key, text(value)) for key, value in texts.items()]
        assert written != list(texts.items()), change
        (folder / change).write_bytes(_core.save_bytes("safetensors", names, arrays, written))
    return sorted(path for path in folder.iterdir() if path.name != "good")


@pytest.mark.parametrize(("ctx", "on_store"), [(None, None), (TWO, True), (TWO, False)])
def test_hostile_files_leave_the_trainer_as_it_was(ctx, on_store, tmp_path):
    bad = hostile(tmp_path)
    nets = [network(ctx), network(ctx)]
    trainers = [Trainer(net, "adam", ADAM, update_on_kvstore=on_store) for net in nets]
    for net, trainer in zip(nets, trainers, strict=True):
        train(net, trainer, range(2))
    for path in bad:
        with pytest.raises((errors.FormatError, errors.MXNetError)):
            trainers[0].load_states(path)
    for net, trainer in zip(nets, trainers, strict=True):
        train(net, trainer, range(2, 4))
    same(values(nets[0]), values(nets[1]))


def test_what_is_said_of_wrong_files(tmp_path):
    hostile(tmp_path)
    trainer = Trainer(network(), "adam", ADAM)
    for name, text in {
        "pickled": "pickle",
        "arrays.safetensors": "not one of the states",
        "other optimizer": "states of SGD, and the optimizer is Adam",
        "other network": r"the state of parameter 6 .*\(2, 4\).*\(3, 4\)",
        "other keys": "states of parameter 99, but only 8 parameters",
    }.items():
        with pytest.raises(ValueError, match=f"{name}': .*{text}"):
            trainer.load_states(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        trainer.load_states(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no_folder"):
        trainer.save_states(tmp_path / "no_folder" / "states")
    with pytest.raises(TypeError, match="fname must be a str"):
        trainer.save_states(3)
    with pytest.raises(NotImplementedError, match="address"):
        trainer.save_states("s3://bucket/states")


# Saves that do not come to their end.


def test_a_save_that_fails_keeps_the_old_file(tmp_path, monkeypatch):
    net = network()
    trainer = Trainer(net, "adam", ADAM)
    train(net, trainer, range(1))
    path = tmp_path / "states"
    trainer.save_states(path)
    before = path.read_bytes()
    train(net, trainer, range(1))

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        trainer.save_states(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["states"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by a signal that is not here")
def test_a_killed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "states"
    code = f"""
        import os, signal
        import gluonish as mx
        from gluonish.gluon import Trainer, nn
        net = nn.Dense(64, in_units=64)
        net.initialize()
        trainer = Trainer(net, "sgd", {{"momentum": 0.9}})
        for i in range(2):
            net.weight.grad()[:] = 1
            net.bias.grad()[:] = 1
            trainer.step(1)
            if i:
                os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
            trainer.save_states({str(path)!r})
            os.rename({str(path)!r}, {str(path)!r}) or print("saved", flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout == "saved\n"
    net = nn.Dense(64, in_units=64)
    net.initialize()
    trainer = Trainer(net, "sgd", {"momentum": 0.9})
    trainer.load_states(path)
    assert trainer.optimizer.num_update == 1


def test_files_keep_their_permissions_and_links(tmp_path):
    trainer = Trainer(network(), "sgd")
    path, link = tmp_path / "states", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    trainer.save_states(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert Path(link).read_bytes() == path.read_bytes() != b"old"
