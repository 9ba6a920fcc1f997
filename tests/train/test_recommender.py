"""Matrix factorisation with embeddings guesses ratings better than their mean, and than users' and films' means."""

import time

import pytest


@pytest.mark.slow
def test_factorisation_beats_the_mean(example, say):
    recommender = example("recommender")
    known, asked = recommender.ratings()
    mean = float(known.stars.mean())
    net = recommender.Factorisation(mean, 8)
    net.initialize()
    begin = time.perf_counter()
    fits = list(recommender.train(net, known, 10))
    guessed = recommender.error(net(asked.users, asked.films), asked.stars)
    always = recommender.error(mean, asked.stars)
    say(f"recommender: error {guessed:.3f}, always the mean {always:.3f}, {time.perf_counter() - begin:.1f} s")
    assert guessed < 0.5 * always
    assert guessed > recommender.NOISE  # nobody can do better: something would be wrong with the data
    assert fits[-1] < fits[0]


def test_known_and_asked_ratings_are_different_ones(example):
    recommender = example("recommender")
    pairs = [set(zip(r.users.tolist(), r.films.tolist(), strict=True)) for r in recommender.ratings()]
    assert len(pairs[0]) == len(pairs[1]) == recommender.KNOWN * recommender.USERS * recommender.FILMS
    assert not pairs[0] & pairs[1]
