#include "backends/simulated/server/framing.h"

#include <cstdio>
#include <utility>

namespace penstock::simulated {

void Frame(std::string payload, bool chunked, std::string& bytes) {
  if (!chunked) {
    bytes = std::move(payload);
    return;
  }
  char length[20];
  std::snprintf(length, sizeof length, "%zx\r\n", payload.size());
  bytes.clear();
  if (payload.empty()) return;
  bytes += length;
  bytes += payload;
  bytes += "\r\n";
}

std::string StreamHead(bool llama, bool chunked, bool keep_alive) {
  std::string head = "HTTP/1.1 200 OK\r\n";
  head += llama ? "Server: llama.cpp\r\nX-Accel-Buffering: no\r\nKeep-Alive: timeout=5, max=100\r\n"
                : "Server: uvicorn\r\n";
  head += llama ? "Content-Type: text/event-stream\r\n" : "Content-Type: text/event-stream; charset=utf-8\r\n";
  if (chunked) head += "Transfer-Encoding: chunked\r\n";
  if (!chunked || !keep_alive) head += "Connection: close\r\n";
  return head + "\r\n";
}

}  // namespace penstock::simulated
