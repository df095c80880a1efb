// Loading and unloading adapters of a simulated engine over HTTP, as vLLM's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulated/fleet_fixture.h"

namespace penstock::simulated {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLoadSql[] = R"({"lora_name":"sql","lora_path":"/adapters/sql"})";

class AdapterPages : public FleetTest {
 protected:
  void SetUp() override {
    Config config = OneReplica();
    AdapterConfig sql;
    sql.name = "sql";
    sql.path = "/adapters/sql";
    sql.model = "llama-3.1-8b";
    sql.load = Duration::Milliseconds(500);  // A hundred times faster.
    config.adapters.push_back(sql);
    Run(config);
  }
  int Chat(const std::string& model) {
    return Ask("POST", "/v1/chat/completions",
               R"({"model":")" + model + R"(","messages":[{"role":"user","content":"Hi"}],"max_tokens":3})")
        .status;
  }
};

TEST_F(AdapterPages, ALoadedAdapterIsListedAndServed) {
  EXPECT_EQ(Chat("sql"), 404);
  const Reply loaded = Ask("POST", "/v1/load_lora_adapter", kLoadSql);
  EXPECT_EQ(loaded.status, 200);
  EXPECT_EQ(loaded.body, "Success: LoRA adapter 'sql' added successfully.");
  const std::string models = Ask("GET", "/v1/models").body;
  EXPECT_THAT(models, HasSubstr(R"("parent":"llama-3.1-8b")"));
  EXPECT_THAT(models, HasSubstr(R"("root":"/adapters/sql")"));
  EXPECT_EQ(Chat("sql"), 200);
  EXPECT_EQ(Ask("POST", "/v1/load_lora_adapter", kLoadSql).status, 400) << "it is loaded already";
}

TEST_F(AdapterPages, AnUnloadedAdapterIsGone) {
  Ask("POST", "/v1/load_lora_adapter", kLoadSql);
  EXPECT_EQ(Ask("POST", "/v1/unload_lora_adapter", R"({"lora_name":"sql"})").status, 200);
  EXPECT_THAT(Ask("GET", "/v1/models").body, Not(HasSubstr("sql")));
  EXPECT_EQ(Chat("sql"), 404);
  EXPECT_EQ(Ask("POST", "/v1/unload_lora_adapter", R"({"lora_name":"sql"})").status, 404);
}

TEST_F(AdapterPages, APathWithoutAnAdapterIsRefused) {
  EXPECT_EQ(Ask("POST", "/v1/load_lora_adapter", R"({"lora_name":"sql","lora_path":"/nowhere"})").status, 404);
  EXPECT_EQ(Ask("POST", "/v1/load_lora_adapter", R"({"lora_name":"sql"})").status, 400);
  EXPECT_EQ(Ask("POST", "/v1/load_lora_adapter", "{").status, 400);
}

}  // namespace
}  // namespace penstock::simulated
