"""Endpoints and rules from environment and file: who goes first, who gets which key, what is refused."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from resources.model_access import ModelAccess
from resources.models.settings import Endpoint, ModelSettings, ModelSettingsError, checked_url, model_settings

V = "TRAILBENCH_MODEL_"


def from_env(monkeypatch: pytest.MonkeyPatch, **values: str) -> ModelSettings:
    for name, value in values.items():
        monkeypatch.setenv(name if name.startswith("OPENAI_") else V + name, value)
    return ModelSettings()


def key_of(endpoint: Endpoint | None) -> str | None:
    assert endpoint is not None
    return endpoint.api_key.get_secret_value() if endpoint.api_key else None


def test_nothing_set_means_the_embedded_model(monkeypatch: pytest.MonkeyPatch) -> None:
    # A key or URL for other programs on this machine is no wish to call anything.
    settings = from_env(monkeypatch, OPENAI_API_KEY="sk-other", OPENAI_BASE_URL="http://other:1/v1")
    assert settings.endpoints() == {}
    embedded = Endpoint(base_url="http://127.0.0.1:5/v1", model="small", weak=True, alias="embedded small")
    assert settings.endpoints(embedded) == dict.fromkeys(("builder", "reader", "judge", "profile"), embedded)
    assert embedded.identity == "embedded small"


def test_one_endpoint_serves_every_role_and_a_role_may_have_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = from_env(
        monkeypatch,
        BASE_URL="HTTP://Host:8/v1/",
        NAME="big",
        API_KEY="sk-all",
        READER_NAME="small",
        JUDGE_BASE_URL="http://judge:9/v1",
        JUDGE_API_KEY="sk-judge",
        PROFILE_WEAK="true",
        EMBEDDING_NAME="e5",
    )
    found = settings.endpoints()
    assert {part: (one.base_url, one.model, key_of(one), one.weak) for part, one in found.items()} == {
        "builder": ("http://host:8/v1", "big", "sk-all", False),
        "reader": ("http://host:8/v1", "small", "sk-all", False),
        "judge": ("http://judge:9/v1", "big", "sk-judge", False),
        "profile": ("http://host:8/v1", "big", "sk-all", True),
        "embedding": ("http://host:8/v1", "e5", "sk-all", False),
    }


def test_a_key_never_goes_to_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = from_env(
        monkeypatch,
        NAME="big",
        OPENAI_API_KEY="sk-openai",
        JUDGE_BASE_URL="http://elsewhere:9/v1",
        READER_BASE_URL="https://api.openai.com/v2",
    )
    assert settings.endpoint("builder").base_url == "https://api.openai.com/v1"
    assert key_of(settings.endpoint("builder")) == key_of(settings.endpoint("reader")) == "sk-openai"
    assert key_of(settings.endpoint("judge")) is None


def test_usual_variables_complete_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = from_env(monkeypatch, NAME="big", OPENAI_BASE_URL="http://usual:1/v1", OPENAI_API_KEY="sk-usual")
    assert (settings.endpoint("judge").base_url, key_of(settings.endpoint("judge"))) == (
        "http://usual:1/v1",
        "sk-usual",
    )
    monkeypatch.setenv(V + "BASE_URL", "http://own:1/v1")
    monkeypatch.setenv(V + "API_KEY", "sk-own")
    judge = ModelSettings().endpoint("judge")
    assert (judge.base_url, key_of(judge)) == ("http://own:1/v1", "sk-own")


def test_environment_beats_file_field_by_field(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(
        "base_url: http://file:1/v1\nname: of-file\nconcurrency: 3\nretries: 9\n"
        "reader: {name: small, api_key: sk-file}\nprices: {small: {prompt: 0.15, reply: 0.6}}\n"
    )
    settings = from_env(monkeypatch, FILE=str(file), CONCURRENCY="5", READER_WEAK="1", OPENAI_API_KEY="sk-usual")
    assert (settings.concurrency, settings.retries, settings.base_url) == (5, 9, "http://file:1/v1")
    reader = settings.endpoint("reader")
    assert (reader.model, key_of(reader), reader.weak) == ("small", "sk-file", True)
    assert str(settings.prices["small"].reply) == "0.6"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("base_url: [", r"models\.yaml, line \d+: cannot be read as YAML"),
        ("- a\n", r"models\.yaml: cannot be read as YAML in UTF-8, settings by name"),
        ("false\n", r"models\.yaml: cannot be read as YAML in UTF-8, settings by name"),
        ("seed: 1\nconcurency: 3\n", r"models\.yaml, line 2: no such setting; settings are mode, seed, concurrency"),
        ("1: a\nfoo: b\n", r"models\.yaml, line 1: no such setting"),
        ("file: other.yaml\n", r"models\.yaml, line 1: no such setting"),
        ("seed: 1\nconcurrency: many\n", r"models\.yaml, line 2: concurrency: Input should be a valid integer"),
        ("max_cost: true\n", r"models\.yaml, line 1: max_cost: true and false are no value here"),
        ("reader:\n  weak: 1\n  concurrency: true\n", r"models\.yaml, line 3: reader\.concurrency: true and false"),
        ("concurrency: 010\n", r"models\.yaml, line 1: cannot be read as YAML"),
        ("name: 2020-13-45\n", r"models\.yaml, line 1: cannot be read as YAML"),
        ("timeout_seconds: 1:30\n", r"models\.yaml, line 1: cannot be read as YAML"),
        ("name: a\nname: b\n", r"models\.yaml, line 2: cannot be read as YAML"),
    ],
)
def test_a_bad_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(text)
    monkeypatch.setenv("TRAILBENCH_MODEL_FILE", str(file))
    with pytest.raises(ModelSettingsError, match=says):
        model_settings()
    file.unlink()
    with pytest.raises(ModelSettingsError, match="is not there"):
        model_settings()


@pytest.mark.parametrize(
    "text",
    [
        "{name: m, api_key:sk-planted}",
        "reader: {api_key:sk-planted}",
        "reader:\n  sk-planted: 1",
        "sk-planted: 1",
        "prices: {sk-planted: 1}",
        "prices: {m: {sk-planted: 1}}",
        "api_key: sk-planted\napi_key: sk-planted",
        "api_key: [sk-planted]",
        "api_key: {sk-planted: 1}",
        "- sk-planted",
        "sk-planted",
    ],
)
def test_a_key_in_the_wrong_place_of_a_file_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(text)
    monkeypatch.setenv("TRAILBENCH_MODEL_FILE", str(file))
    with pytest.raises(ModelSettingsError, match=r"models\.yaml") as caught:
        model_settings()
    assert "planted" not in str(caught.value).lower() and caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("READER", '{"concurrency": 0}'), ("READER_CONCURRENCY", "0"), ("PRICES", '{"m": {"prompt": -1}}')],
)
def test_a_wrong_variable_is_not_laid_to_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("name: m\n")
    monkeypatch.setenv("TRAILBENCH_MODEL_FILE", str(file))
    monkeypatch.setenv(V + name, value)
    with pytest.raises(ModelSettingsError, match=f"^settings of the models: {V}{name}: Input should be greater"):
        model_settings()


def test_a_file_that_is_no_text_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_bytes(b"api_key: sk-planted\xff\n")
    with pytest.raises(ModelSettingsError, match=r"models\.yaml: cannot be read as YAML in UTF-8") as caught:
        from_env(monkeypatch, FILE=str(file))
    assert "sk-planted" not in str(caught.value)


def test_a_model_may_be_named_where_only_an_endpoint_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = from_env(monkeypatch, BASE_URL="http://host:8/v1", JUDGE_NAME="own")
    assert settings.is_set("reader") and not settings.is_set("embedding")
    assert settings.endpoint("reader", "named").model == settings.endpoint("judge", "named").model == "named"
    assert settings.endpoint("judge").model == "own"


def test_a_model_named_where_nothing_is_set_is_never_answered_by_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    access = ModelAccess(tmp_path)
    own = access.endpoint("reader")
    assert own.weak and access.endpoint("reader", own.model) == own
    with pytest.raises(ModelSettingsError, match="model grand is named for role reader and no endpoint is set"):
        access.endpoint("reader", "grand")


def test_an_endpoint_without_a_model_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = from_env(monkeypatch, BASE_URL="http://host:8/v1", EMBEDDING_BASE_URL="http://host:8/v1")
    with pytest.raises(ModelSettingsError, match="TRAILBENCH_MODEL_NAME"):
        settings.endpoint("reader")
    with pytest.raises(ModelSettingsError, match="TRAILBENCH_MODEL_EMBEDDING_NAME"):
        settings.endpoint("embedding")


@pytest.mark.parametrize(
    "url",
    [
        "http://user:sk-planted@host/v1",
        "https://sk-planted@host/v1",
        "http://host/v1?key=sk-planted",
        "http://host/v1#sk-planted",
        "ftp://host/sk-planted",
        "sk-planted",
        "http://host:sk-planted/v1",
        "",
    ],
)
def test_a_base_url_with_secrets_or_none_at_all_is_refused_unrepeated(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    with pytest.raises(ValueError, match="the base URL"):
        checked_url(url)
    with pytest.raises(ValidationError) as caught:
        Endpoint(base_url=url, model="m")
    assert "sk-planted" not in str(caught.value)
    if url:
        with pytest.raises(ValidationError) as caught:
            from_env(monkeypatch, BASE_URL=url, NAME="m", JUDGE_BASE_URL=url)
        assert "sk-planted" not in str(caught.value)


def test_an_address_has_one_spelling() -> None:
    assert checked_url(" HTTPS://API.Host.com/v1/ ") == "https://api.host.com/v1"
    assert checked_url("http://[::1]:80/") == "http://[::1]:80"


def test_keys_are_in_no_text_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = from_env(
        monkeypatch, NAME="m", API_KEY="sk-planted1", JUDGE_API_KEY="sk-planted2", OPENAI_API_KEY="sk-planted3"
    )
    said = f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()} {settings.endpoints()!r}"
    assert "sk-planted" not in said
    with pytest.raises(ValidationError) as caught:
        ModelSettings(name="m", api_key=["sk-planted"])
    assert "sk-planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("BASE_URL", "http://sk-planted@h/v1", "TRAILBENCH_MODEL_BASE_URL: the base URL holds credentials"),
        ("JUDGE_BASE_URL", "http://h/v1?k=sk-planted", "TRAILBENCH_MODEL_JUDGE_BASE_URL: the base URL holds a query"),
        ("READER_NMAE", "sk-planted", "TRAILBENCH_MODEL_READER_NMAE: Extra inputs"),
        ("RETRIES", "sk-planted", "TRAILBENCH_MODEL_RETRIES: Input should be a valid integer"),
        ("PRICES", "{sk-planted", "prices"),
        ("API_KEY", "sk-planted\n", "TRAILBENCH_MODEL_API_KEY: .*no header can carry"),
        ("READER_API_KEY", "sk-planted-ключ", "TRAILBENCH_MODEL_READER_API_KEY: .*no header can carry"),
        ("PRICES", '{"m": {"prompt": -1}}', "TRAILBENCH_MODEL_PRICES: Input should be greater"),
    ],
)
def test_a_wrong_variable_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(V + name, value)
    with pytest.raises(ModelSettingsError, match=says) as caught:
        model_settings()
    assert "sk-planted" not in str(caught.value)
    monkeypatch.delenv(V + name)
    assert model_settings().endpoints() == {}


@pytest.mark.parametrize("rule", [{"concurrency": 0}, {"timeout_seconds": 0}, {"retries": -1}, {"mode": "offline"}])
def test_rules_have_bounds(rule: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings(**rule)
