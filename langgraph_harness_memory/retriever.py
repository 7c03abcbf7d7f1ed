"""A LangChain retriever over the index, for chains that expect documents."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from langgraph_harness_memory.index.hits import Index, SearchHit
from langgraph_harness_memory.tenancy import ambient_thread


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

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  part of the base class's signature
        k: int | None = None,
    ) -> list[Document]:
        return [_document(hit) for hit in self._view().search(query, k or self.k)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002  part of the base class's signature
        k: int | None = None,
    ) -> list[Document]:
        return [_document(hit) for hit in await self._view().asearch(query, k or self.k)]

    def _view(self) -> Index:
        tenant = ambient_thread().tenant
        view: Index = self.index if tenant is None else self.index.for_tenant(tenant)
        return view


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
