"""A network whose graph is another one for each example."""

import time

import pytest

import gluonish as mx


@pytest.mark.slow
def test_tree_lstm_learns_what_formulas_say(example, say):
    tree_lstm = example("tree_lstm")
    net = tree_lstm.TreeLSTM(tree_lstm.WIDTH)
    net.initialize(mx.init.Xavier())
    known, longer = tree_lstm.formulas(1000, 1, tree_lstm.SEEN), tree_lstm.formulas(300, 2, tree_lstm.LONGER)
    share = sum(tree.value for tree in longer) / len(longer)
    before, begin = tree_lstm.accuracy(net, longer), time.perf_counter()
    losses = list(tree_lstm.train(net, known, 5))
    right = tree_lstm.accuracy(net, longer)
    say(f"TreeLSTM: {right:.1%} of longer formulas are right, {time.perf_counter() - begin:.1f} s")
    assert before < 0.75
    assert 0.25 < share < 0.75
    assert losses[-1] < losses[0] / 5
    assert right > 0.95


def test_values_of_formulas(example):
    tree_lstm = example("tree_lstm")
    yes, no = tree_lstm.Tree("true"), tree_lstm.Tree("false")
    tree = tree_lstm.Tree("xor", tree_lstm.Tree("and", yes, no), tree_lstm.Tree("or", yes, no))
    assert str(tree) == "((true and false) xor (true or false))"
    assert tree.value
    for made in tree_lstm.formulas(20, 1, (3, 5)):
        text = str(made).replace("xor", "!=").replace("true", "True").replace("false", "False")
        assert made.value == eval(text)
        assert 3 <= text.count("True") + text.count("False") <= 5
