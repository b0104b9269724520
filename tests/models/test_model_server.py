"""The scripted endpoint speaks the protocol that the SDK speaks, and commits the faults it is asked for."""

import openai
import pytest
from model_server import (
    Answer,
    Call,
    connection_reset,
    key_echoed,
    malformed_body,
    model_server,
    rate_limited,
    refused,
    server_error,
    slow,
    too_long,
    two_choices,
    vector_of,
)

ASKED = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello?"}]


def client(base_url: str, **options: object) -> openai.OpenAI:
    return openai.OpenAI(base_url=base_url, api_key="sk-planted", max_retries=0, **options)


def test_a_chat_call_arrives_whole_and_is_answered_by_the_script() -> None:
    with model_server(lambda call: f"{call.number}: {call.text}") as server, client(server.base_url) as sdk:
        first, second = (sdk.chat.completions.create(model="m", messages=ASKED) for _ in range(2))
    assert (first.choices[0].message.content, second.choices[0].message.content) == ("0: hello?", "1: hello?")
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (11, 7)
    assert [(c.path, c.system, c.key, c.model) for c in server.chats] == [
        ("/v1/chat/completions", "be brief", "sk-planted", "m")
    ] * 2


@pytest.mark.parametrize(
    ("answer", "raised", "says"),
    [
        (rate_limited("3"), openai.RateLimitError, "rate limit"),
        (server_error(503), openai.InternalServerError, "the server had an error"),
        (connection_reset(), openai.APIConnectionError, ""),
        (slow(5), openai.APITimeoutError, ""),
    ],
)
def test_faults_reach_the_caller_as_what_they_are(answer: Answer, raised: type[Exception], says: str) -> None:
    with model_server(lambda call: answer) as server, client(server.base_url, timeout=0.2) as sdk:
        with pytest.raises(raised) as caught:
            sdk.chat.completions.create(model="m", messages=ASKED)
        assert says in str(caught.value)
        if isinstance(caught.value, openai.RateLimitError):
            assert caught.value.response.headers["retry-after"] == "3"
        assert server.count == 1


def test_a_body_may_break_off_a_reply_may_be_two_cut_or_declined() -> None:
    answers = [malformed_body(), two_choices(), too_long("abc"), refused("no")]
    with model_server(lambda call: answers[call.number]) as server, client(server.base_url) as sdk:
        with pytest.raises(ValueError):
            sdk.chat.completions.create(model="m", messages=ASKED)
        two, cut, declined = (sdk.chat.completions.create(model="m", messages=ASKED) for _ in range(3))
    assert len(two.choices) == 2
    assert (cut.choices[0].finish_reason, cut.choices[0].message.content) == ("length", "abc")
    assert (declined.choices[0].message.content, declined.choices[0].message.refusal) == (None, "no")


def test_a_key_is_echoed_for_tests_of_secrets() -> None:
    with model_server(key_echoed) as server, client(server.base_url) as sdk:
        with pytest.raises(openai.AuthenticationError, match="sk-planted") as caught:
            sdk.chat.completions.create(model="m", messages=ASKED)
        assert caught.value.response.headers["x-key"] == "sk-planted"


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_a_text_has_the_same_vector_in_either_encoding(encoding: str) -> None:
    with model_server() as server, client(server.base_url) as sdk:
        reply = sdk.embeddings.create(model="e", input=["a", "b"], encoding_format=encoding)
    got = [one.embedding for one in reply.data]
    if encoding == "float":
        assert got == [vector_of("a").tolist(), vector_of("b").tolist()]
    assert len(got) == 2 and got[0] != got[1]


def test_what_a_script_raises_fails_the_test() -> None:
    def script(call: Call) -> str:
        raise AssertionError("unexpected prompt")

    with (
        pytest.raises(AssertionError, match="unexpected prompt"),
        model_server(script) as server,
        client(server.base_url) as sdk,
        pytest.raises(openai.APIStatusError),
    ):
        sdk.chat.completions.create(model="m", messages=ASKED)
