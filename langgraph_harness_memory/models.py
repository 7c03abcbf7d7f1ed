"""Names of chat models: the one door to langchain's `init_chat_model`."""

from typing import TYPE_CHECKING

from langgraph_harness_memory.errors import MissingExtra, SettingError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def resolve_model(model: "BaseChatModel | str") -> "BaseChatModel":
    """Turn a chat model's name into a chat model.

    `openai:` names and bare names of OpenAI models resolve through langchain-openai, which is always there; any other
    provider through `init_chat_model`.

    Args:
        model: A chat model, which is returned as it is, or `provider:name`.

    Raises:
        SettingError: The name is empty or its provider is not known.
        MissingExtra: The provider needs the extra `agents`.
    """
    if not isinstance(model, str):
        return model
    provider, _, name = model.rpartition(":") if model.startswith("openai:") else ("", "", model)
    if provider == "openai" or model.startswith(("gpt-", "o1", "o3", "o4")):
        if not name:
            raise SettingError.refused("model", model, "name the model, for example 'openai:gpt-5.5'")
        from langchain_openai import ChatOpenAI  # noqa: PLC0415  importing openai takes 0.3 s

        return ChatOpenAI(model=name)
    if ":" not in model:
        raise SettingError.refused("model", model, "name the provider too, for example 'openai:gpt-5.5'")
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra(f"the chat model {model!r}", "agents") from error
    return init_chat_model(model)
