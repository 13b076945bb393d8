"""Figures and tables that show how things work, or set texts and papers side by side."""

import numpy as np
import pandas as pd

from helpers.measures import figures

WORDS = ["the", "old", "man", "sleeps", "."]


def texts(axis):
    return [text.get_text() for text in axis.texts if text.get_text()]


def test_relevance_through_a_sentence_is_drawn_top_down():
    heads = pd.DataFrame([[1.0, -2.0], [0.5, 0.0]], columns=pd.MultiIndex.from_tuples([("encoder", 0, 0), ("encoder", 0, 1)]))
    flow = np.arange(12.0).reshape(2, 2, 3)
    sentence = {"source": ["▁a", "▁", "b"], "predicted": ["▁x", "▁y"], "heads": heads, "flow": flow}
    attention = np.arange(18.0).reshape(2, 3, 3) / 20
    sentence |= {"layer": 0, "head": 1, "block": {"A": attention}}
    above, looks, below = figures.through_a_sentence(sentence, 1).axes[:3]
    assert looks.get_yticklabels()[0].get_text() == "from 'b'"  # most relevance leaves the layer there
    np.testing.assert_array_equal(looks.images[0].get_array(), attention[1, 2][None])
    assert len(figures.through_a_sentence(sentence | {"block": {}}, 1).axes) == 4  # two panels with their bars
    np.testing.assert_array_equal(above.images[0].get_array(), flow[1][::-1])
    np.testing.assert_array_equal(below.images[0].get_array(), heads[1:])
    assert [label.get_text() for label in above.get_yticklabels()] == ["after layer 1", "input words"]
    assert [label.get_text() for label in looks.get_xticklabels()] == ["a", "␣", "b"]
    deep = sentence | {"flow": np.arange(30.0).reshape(2, 5, 3)}
    above = figures.through_a_sentence(deep, 0).axes[0]  # only where relevance enters, leaves the head's layer, and ends
    np.testing.assert_array_equal(above.images[0].get_array(), deep["flow"][0][[4, 1, 0]])
