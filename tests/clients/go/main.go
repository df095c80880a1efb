// Runs the checks whose names come as lines on stdin, and prints one line of JSON for each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type result map[string]any

var (
	model   = os.Getenv("PENSTOCK_MODEL")
	client  = clientOf("any", 0)
	limited = clientOf("limited", 1)
)

func clientOf(key string, retries int) openai.Client {
	return openai.NewClient(option.WithBaseURL(os.Getenv("PENSTOCK_URL")+"/v1"), option.WithAPIKey(key),
		option.WithMaxRetries(retries), option.WithRequestTimeout(30*time.Second))
}

func asked(content string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:     model,
		Messages:  []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)},
		MaxTokens: openai.Int(8),
	}
}

func question() openai.ChatCompletionNewParams { return asked("What does a penstock do?") }

func create(by openai.Client, params openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	return by.Chat.Completions.New(context.Background(), params)
}

func chat() (result, error) {
	answer, err := create(client, question())
	if err != nil {
		return nil, err
	}
	return result{"text": answer.Choices[0].Message.Content, "tokens": answer.Usage.CompletionTokens}, nil
}

func stream() (result, error) {
	chunks := client.Chat.Completions.NewStreaming(context.Background(), question())
	text, pieces := "", 0
	for chunks.Next() {
		for _, choice := range chunks.Current().Choices {
			if choice.Delta.Content != "" {
				text += choice.Delta.Content
				pieces++
			}
		}
	}
	return result{"text": text, "pieces": pieces}, chunks.Err()
}

func tool() (result, error) {
	params := question()
	params.MaxTokens = openai.Int(64)
	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name:        "open_gate",
		Description: openai.String("Opens the gate by so many centimetres."),
		Parameters: openai.FunctionParameters{
			"type":       "object",
			"properties": map[string]any{"centimetres": map[string]any{"type": "integer"}},
			"required":   []string{"centimetres"},
		},
	})}
	answer, err := create(client, params)
	if err != nil {
		return nil, err
	}
	call := answer.Choices[0].Message.ToolCalls[0].Function
	var arguments map[string]any
	err = json.Unmarshal([]byte(call.Arguments), &arguments)
	return result{"name": call.Name, "arguments": arguments}, err
}

// errorOf returns the type and the status of the error that a request ends with.
func errorOf(params openai.ChatCompletionNewParams) (result, error) {
	_, err := create(client, params)
	var refused *openai.Error
	if !errors.As(err, &refused) {
		return nil, fmt.Errorf("not an error of the client: %v", err)
	}
	return result{"error": reflect.TypeOf(refused).Elem().Name(), "status": refused.StatusCode}, nil
}

func missingModel() (result, error) {
	params := question()
	params.Model = "no-such-model"
	return errorOf(params)
}

func badRequest() (result, error) { return errorOf(asked(strings.Repeat("river ", 20000))) }

func retry() (result, error) {
	began := time.Now()
	_, err := create(limited, question())
	return result{"seconds": time.Since(began).Seconds()}, err
}

func main() {
	checks := map[string]func() (result, error){
		"chat": chat, "stream": stream, "tool": tool, "missing_model": missingModel, "bad_request": badRequest, "retry": retry,
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer, err := checks[lines.Text()]()
		if err != nil {
			answer = result{"failed": err.Error()}
		}
		answer["check"] = lines.Text()
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
}
