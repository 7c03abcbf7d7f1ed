"""A LangChain retriever over the index, for chains that expect documents."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field

from langgraph_harness_memory.index.hits import Index, SearchHit
from langgraph_harness_memory.tenancy import ambient_thread, tenant_of


class MemoryIndexRetriever(BaseRetriever):
    """Retrieves lines of memory; the tenant is that of the run it is called in.

    `page_content` is the line. `metadata` holds `path`, `line_number`, `rank` (smaller is better), `date` (ISO, or
    `None`), `heading` and `source`; the document's id is `path#line`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    index: Any
    """An `Index`: `MemoryIndex(…)`, `memory.index`, or one of your own."""
    k: int = Field(default=4, ge=1)
    """Documents given at most."""

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002  the base class's name
        """Retrieve documents.

        Args:
            input: The query.
            config: Names the user, where the run under way does not.
            **kwargs: `k` takes the place of the retriever's own.
        """
        return super().invoke(input, config, **{"tenant": _tenant(config), **kwargs})

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002  the same
        """Twin of `invoke`."""
        return await super().ainvoke(input, config, **{"tenant": _tenant(config), **kwargs})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  part of the base class's signature
        tenant: str | None = None,
        k: int | None = None,
    ) -> list[Document]:
        return [_document(hit) for hit in self._view(tenant).search(query, k or self.k)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002  part of the base class's signature
        tenant: str | None = None,
        k: int | None = None,
    ) -> list[Document]:
        return [_document(hit) for hit in await self._view(tenant).asearch(query, k or self.k)]

    def _view(self, tenant: str | None) -> Index:
        view: Index = self.index if tenant is None else self.index.for_tenant(tenant)
        return view


def _tenant(config: RunnableConfig | None) -> str | None:
    """Return the user that the call names, else the run under way: a retriever alone makes its config nobody's context."""
    named = tenant_of(config)
    return ambient_thread().tenant if named is None else named


def _document(hit: SearchHit) -> Document:
    return Document(
        id=f"{hit.path}#{hit.line_number}",
        page_content=hit.content,
        metadata={
            "path": hit.path,
            "line_number": hit.line_number,
            "rank": hit.rank,
            "date": hit.date.isoformat() if hit.date else None,
            "heading": hit.heading,
            "source": hit.source,
        },
    )
