import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionToolChoiceOption;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** Runs the checks whose names come as lines on stdin, and prints one line of JSON for each. */
public class Checks {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final OpenAIClient CLIENT = client("any", 0);
  private static final OpenAIClient LIMITED = client("limited", 1);

  private static OpenAIClient client(String key, int retries) {
    return OpenAIOkHttpClient.builder()
        .baseUrl(System.getenv("PENSTOCK_URL") + "/v1")
        .apiKey(key)
        .maxRetries(retries)
        .timeout(Duration.ofSeconds(30))
        .build();
  }

  private static ChatCompletionCreateParams.Builder asked() {
    return asked("What does a penstock do?");
  }

  private static ChatCompletionCreateParams.Builder asked(String content) {
    return ChatCompletionCreateParams.builder()
        .model(System.getenv("PENSTOCK_MODEL"))
        .addUserMessage(content)
        .maxCompletionTokens(8);
  }

  private static Map<String, Object> chat() {
    var answer = CLIENT.chat().completions().create(asked().build());
    return Map.of(
        "text", answer.choices().get(0).message().content().get(),
        "tokens", answer.usage().get().completionTokens());
  }

  private static Map<String, Object> stream() {
    List<String> pieces = new ArrayList<>();
    try (var chunks = CLIENT.chat().completions().createStreaming(asked().build())) {
      chunks.stream()
          .flatMap(chunk -> chunk.choices().stream())
          .flatMap(choice -> choice.delta().content().stream())
          .filter(piece -> !piece.isEmpty())
          .forEach(pieces::add);
    }
    return Map.of("text", String.join("", pieces), "pieces", pieces.size());
  }

  private static Map<String, Object> tool() throws Exception {
    var centimetres = Map.of("centimetres", Map.of("type", "integer"));
    var schema =
        FunctionParameters.builder()
            .putAdditionalProperty("type", JsonValue.from("object"))
            .putAdditionalProperty("properties", JsonValue.from(centimetres))
            .putAdditionalProperty("required", JsonValue.from(List.of("centimetres")))
            .build();
    var gate =
        FunctionDefinition.builder()
            .name("open_gate")
            .description("Opens the gate by so many centimetres.")
            .parameters(schema)
            .build();
    var params =
        asked()
            .addTool(ChatCompletionFunctionTool.builder().function(gate).build())
            .toolChoice(ChatCompletionToolChoiceOption.Auto.REQUIRED)
            .maxCompletionTokens(64)
            .build();
    var message = CLIENT.chat().completions().create(params).choices().get(0).message();
    var call = message.toolCalls().get().get(0).asFunction().function();
    return Map.of(
        "name", call.name(),
        "arguments", JSON.readValue(call.arguments(), new TypeReference<Map<String, Object>>() {}));
  }

  /** The class and the status of the error that a request ends with. */
  private static Map<String, Object> errorOf(ChatCompletionCreateParams params) {
    try {
      CLIENT.chat().completions().create(params);
    } catch (OpenAIServiceException error) {
      return Map.of("error", error.getClass().getSimpleName(), "status", error.statusCode());
    }
    throw new IllegalStateException("the call succeeded");
  }

  private static Map<String, Object> retry() {
    long began = System.nanoTime();
    LIMITED.chat().completions().create(asked().build());
    return Map.of("seconds", (System.nanoTime() - began) / 1e9);
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, Callable<Map<String, Object>>> checks =
        Map.of(
            "chat", Checks::chat,
            "stream", Checks::stream,
            "tool", Checks::tool,
            "missing_model", () -> errorOf(asked().model("no-such-model").build()),
            "bad_request", () -> errorOf(asked("river ".repeat(20000)).build()),
            "retry", Checks::retry);
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String check = lines.readLine(); check != null; check = lines.readLine()) {
      Map<String, Object> answer;
      try {
        answer = new HashMap<>(checks.get(check).call());
      } catch (Exception error) {
        answer = new HashMap<>(Map.of("failed", error.toString()));
      }
      answer.put("check", check);
      System.out.println(JSON.writeValueAsString(answer));
    }
    System.exit(0);  // Threads of the client's connections would wait for a minute.
  }
}
