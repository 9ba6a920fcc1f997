"""Two networks with a trainer each: generated points reach the modes of the data."""

import time

import pytest


@pytest.mark.slow
def test_generated_points_reach_the_modes(example, say):
    gan = example("gan")
    begin = time.perf_counter()
    (_, before), *_, (_, after) = gan.train(steps=1500, every=25)
    taken = time.perf_counter() - begin
    say(f"GAN: {after.modes} of {gan.MODES} modes, {after.near:.0%} of the points near one, {taken:.1f} s")
    assert before.near < 0.3
    assert after.modes == gan.MODES
    assert after.near > 0.5


def test_training_one_network_leaves_the_other(example):
    """The discriminator's step does not move the generator, whose gradients nobody made."""
    gan = example("gan")
    both = gan.Adversaries()
    both.step()
    moved = []
    for trainer in both.trainers:
        trainer.step = lambda batch, trainer=trainer: moved.append(trainer)
    before = [p.data().copy() for p in (*both.generator.parameters(), *both.discriminator.parameters())]
    both.step()
    assert moved == both.trainers[::-1]
    after = [p.data() for p in (*both.generator.parameters(), *both.discriminator.parameters())]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
