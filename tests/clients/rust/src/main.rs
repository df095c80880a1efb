//! Runs the checks whose names come as lines on stdin, and prints one line of JSON for each.
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{ChatCompletionMessageToolCalls, CreateChatCompletionRequest};
use async_openai::Client;
use futures::StreamExt;
use serde_json::{json, Value};
use std::env::var;
use std::error::Error;
use std::time::Instant;

type Checked = Result<Value, Box<dyn Error>>;

const QUESTION: &str = "What does a penstock do?";

fn client(key: &str) -> Client<OpenAIConfig> {
    let base = format!("{}/v1", var("PENSTOCK_URL").unwrap());
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key(key))
}

fn model() -> String {
    var("PENSTOCK_MODEL").unwrap()
}

/// The request as the client's own type, with the given fields beside the model.
fn asked(fields: Value) -> Result<CreateChatCompletionRequest, serde_json::Error> {
    let mut body = json!({"model": model(), "messages": [{"role": "user", "content": QUESTION}], "max_completion_tokens": 8});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(body)
}

async fn chat() -> Checked {
    let answer = client("any").chat().create(asked(json!({}))?).await?;
    Ok(json!({"text": answer.choices[0].message.content, "tokens": answer.usage.ok_or("no usage")?.completion_tokens}))
}

async fn stream() -> Checked {
    let mut chunks = client("any").chat().create_stream(asked(json!({"stream": true}))?).await?;
    let mut pieces = Vec::new();
    while let Some(chunk) = chunks.next().await {
        pieces.extend(chunk?.choices.into_iter().filter_map(|choice| choice.delta.content).filter(|piece| !piece.is_empty()));
    }
    Ok(json!({"text": pieces.concat(), "pieces": pieces.len()}))
}

async fn tool() -> Checked {
    let schema = json!({"type": "object", "properties": {"centimetres": {"type": "integer"}}, "required": ["centimetres"]});
    let gate = json!({"name": "open_gate", "description": "Opens the gate by so many centimetres.", "parameters": schema});
    let fields = json!({"tools": [{"type": "function", "function": gate}], "tool_choice": "required", "max_completion_tokens": 64});
    let answer = client("any").chat().create(asked(fields)?).await?;
    match answer.choices[0].message.tool_calls.as_deref() {
        Some([ChatCompletionMessageToolCalls::Function(call), ..]) => {
            let arguments: Value = serde_json::from_str(&call.function.arguments)?;
            Ok(json!({"name": call.function.name, "arguments": arguments}))
        }
        other => Err(format!("no call of a function: {other:?}").into()),
    }
}

/// The variant and the status of the error that a request ends with.
async fn error_of(fields: Value) -> Checked {
    match client("any").chat().create(asked(fields)?).await {
        Err(OpenAIError::ApiError(refused)) => Ok(json!({"error": "ApiError", "status": refused.status_code.as_u16()})),
        other => Err(format!("not an error of the API: {other:?}").into()),
    }
}

async fn retry() -> Checked {
    let began = Instant::now();
    client("limited").chat().create(asked(json!({}))?).await?;
    Ok(json!({"seconds": began.elapsed().as_secs_f64()}))
}

async fn run(check: &str) -> Checked {
    match check {
        "chat" => chat().await,
        "stream" => stream().await,
        "tool" => tool().await,
        "missing_model" => error_of(json!({"model": "no-such-model"})).await,
        "bad_request" => error_of(json!({"messages": [{"role": "user", "content": "river ".repeat(20000)}]})).await,
        "retry" => retry().await,
        _ => Err("no such check".into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    for line in std::io::stdin().lines() {
        let check = line.unwrap();
        let mut answer = run(&check).await.unwrap_or_else(|error| json!({"failed": format!("{error:?}")}));
        answer["check"] = check.into();
        println!("{answer}");
    }
}
