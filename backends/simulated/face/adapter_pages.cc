#include "backends/simulated/face/adapter_pages.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>

#include "backends/simulated/face/body_reader.h"
#include "base/clock.h"

namespace penstock::simulated {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kLoad = "/v1/load_lora_adapter", kUnload = "/v1/unload_lora_adapter";

Page Said(const std::string& name, const char* what) {
  return {200, "Success: LoRA adapter '" + name + "' " + what + " successfully.", "text/plain; charset=utf-8"};
}

Page Refused(int status, const std::string& message, const char* type, const Engine& engine) {
  return ErrorPage({status, message, type, "", {}}, engine);
}

}  // namespace

bool IsAdapterRoute(const PageRequest& request) {
  return request.method == "POST" && (request.path == kLoad || request.path == kUnload);
}

asio::awaitable<Page> AnswerAdapterRoute(PageRequest request, std::shared_ptr<Engine> engine) {
  BodyReader body(request.body, false);
  const bool loads = request.path == kLoad;
  std::string name, path;
  if (!body.error()) name = body.Text("lora_name").value_or("");
  if (!body.error()) path = body.Text("lora_path").value_or("");
  if (body.error()) co_return ErrorPage(*body.error(), *engine);
  if (name.empty() || (loads && path.empty())) {
    co_return Refused(400, "Both 'lora_name' and 'lora_path' must be provided.", "InvalidUserInput", *engine);
  }
  if (!loads) {
    if (engine->adapters().Unload(name)) co_return Said(name, "removed");
    co_return Refused(404, "The lora adapter '" + name + "' cannot be found.", "NotFoundError", *engine);
  }
  const AdapterConfig* known = engine->adapters().At(path);
  if (known == nullptr) {
    co_return Refused(404, "Loading lora " + name + " failed: No adapter found for " + path, "NotFoundError", *engine);
  }
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(ToChrono(Duration::Seconds(known->load.seconds() / engine->spec().time_scale)));
  co_await timer.async_wait(asio::use_awaitable);
  if (engine->adapters().Load(name, path)) co_return Said(name, "added");
  co_return Refused(400, "The lora adapter '" + name + "' has already been loaded.", "InvalidUserInput", *engine);
}

}  // namespace penstock::simulated
