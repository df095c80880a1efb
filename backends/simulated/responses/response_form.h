// The responses dialect of a simulated engine: requests as chats, and the events and objects of answers.
//
// Text of an answer goes into JSON as it is; text from a client is escaped. Pure.
#ifndef PENSTOCK_BACKENDS_SIMULATED_RESPONSES_RESPONSE_FORM_H_
#define PENSTOCK_BACKENDS_SIMULATED_RESPONSES_RESPONSE_FORM_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace penstock::simulated {

// The parts of a request that the engine itself reads. Fields of a wrong type count as absent.
struct ResponseOrder {
  std::string id;        // request_id; empty: the engine makes one.
  std::string previous;  // previous_response_id.
  bool store = true;
  bool background = false;
  bool stream = false;
  nlohmann::json items = nlohmann::json::array();   // `input`, as a list of items.
  nlohmann::json shown = nlohmann::json::object();  // The fields that the response repeats.
};
ResponseOrder ReadOrder(const nlohmann::json& body);

// The messages of a chat that say the same as these items.
nlohmann::json MessagesOf(const nlohmann::json& items);
// The body of a chat with `earlier` messages before those of the request.
std::string ChatOf(const nlohmann::json& body, const ResponseOrder& order, const nlohmann::json& earlier);

// The list of the items of `input`.
nlohmann::json InputItems(const std::string& id, const nlohmann::json& items);

std::string DumpJson(const nlohmann::json& value);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_RESPONSES_RESPONSE_FORM_H_
