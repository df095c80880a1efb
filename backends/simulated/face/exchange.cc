#include "backends/simulated/face/exchange.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace penstock::simulated {

Exchange::Exchange(std::shared_ptr<Engine> engine, Job job, int64_t created, std::function<void()> on_change)
    : engine_(std::move(engine)),
      job_(std::move(job)),
      created_(created),
      on_change_(std::move(on_change)),
      events_(job_, engine_->spec().LlamaDialect(), created) {}

Exchange::~Exchange() { AbortAll(); }

void Exchange::Start(Instant now) {
  const bool embeddings = job_.route == Route::kEmbeddings;
  progress_.resize(embeddings ? job_.prompts.size() : job_.choices.size());
  for (size_t i = 0; i < progress_.size(); ++i) {
    SequenceOrder order;
    const Prompt& prompt = job_.prompts[embeddings ? i : static_cast<size_t>(job_.choices[i].prompt)];
    order.prompt = prompt.tokens;
    order.prefix_blocks = prompt.blocks;
    order.session = job_.session;
    order.embedding = embeddings;
    order.keeps = job_.kept != nullptr;
    order.arrived = job_.arrived;
    order.max_tokens = job_.max_tokens;
    order.stream = job_.stream;
    order.listener = this;
    order.choice = static_cast<int>(i);
    if (!embeddings) {
      order.output = job_.choices[i].output;
      order.reason = job_.choices[i].reason;
    }
    const auto id = engine_->Submit(order, now);
    if (!id) return Fail({500, "The engine cannot run this request.", "InternalServerError", "", {}});
    progress_[i].id = *id;
    progress_[i].live = true;
  }
}

void Exchange::AbortAll() {
  for (Progress& progress : progress_) {
    if (std::exchange(progress.live, false)) engine_->Abort(progress.id);
  }
}

void Exchange::OnToken(int index) {
  Progress& progress = progress_[index];
  const ChoicePlan& plan = job_.choices[index];
  const bool first = progress.made == 0;
  std::string_view text = plan.PieceOf(engine_->spec().seed, progress.made);
  ++progress.made;
  // The text ends before the stop string, even inside a piece.
  if (plan.text_bytes) text = text.substr(0, *plan.text_bytes - std::min(*plan.text_bytes, progress.bytes));
  progress.bytes += text.size();
  const bool speculates = engine_->spec().limits.tokens_per_step > 1;
  // The arguments of a tool without a schema are one text.
  if (job_.tool && !plan.document) {
    std::string argument(first ? "{\"text\":\"" : "");
    argument += text;
    if (progress.made == plan.output.value()) argument += "\"}";
    return Emit(index, argument, first);
  }
  if (!speculates || first || job_.tool) return Emit(index, text, first);
  progress.pending += text;
}

void Exchange::Flush(int index) {
  Progress& progress = progress_[index];
  if (progress.pending.empty()) return;
  Emit(index, progress.pending, false);
  progress.pending.clear();
}

void Exchange::FlushAll() {
  for (size_t i = 0; i < progress_.size(); ++i) Flush(static_cast<int>(i));
}

void Exchange::Emit(int index, std::string_view text, bool first) {
  if (!job_.stream) {
    progress_[index].answer.text += text;
    return;
  }
  if (first && (job_.route == Route::kChat || job_.route == Route::kMessages)) events_.Role(index, Usage(), out_);
  if (job_.tool) {
    events_.ToolText(index, text, first, out_);
  } else if (!text.empty()) {
    events_.Text(index, text, out_);
  }
}

void Exchange::OnEnd(int index, const SequenceEnded& ended) {
  Progress& progress = progress_[index];
  progress.live = false;
  if (done_) return;
  if (ended.end == SequenceEnd::kPoolExhausted) return Fail(PoolExhausted());
  Flush(index);
  cached_ += ended.cached_prompt;
  if (job_.kept) job_.kept->Add(job_.id, progress.id, job_.prompts.front().tokens, Now());
  if (job_.route != Route::kEmbeddings) {
    FinishChoice(index, ended.end == SequenceEnd::kContextFull ? FinishReason::kLength : job_.choices[index].reason);
  }
  if (++ended_ == progress_.size()) Complete();
}

void Exchange::FinishChoice(int index, FinishReason reason) {
  Progress& progress = progress_[index];
  progress.answer.reason = reason;
  progress.answer.stop = job_.choices[index].stop;
  if (job_.stream) events_.Finish(index, reason, progress.answer.stop, Usage(), out_);
}

void Exchange::Complete() {
  done_ = true;
  if (job_.stream) {
    if (job_.include_usage) events_.Usage(Usage(), out_);
    events_.Done(out_);
    return;
  }
  if (job_.route == Route::kEmbeddings) {
    out_ = EmbeddingAnswer(job_, engine_->spec().seed, created_, Usage());
    return;
  }
  std::vector<ChoiceAnswer> answers;
  answers.reserve(progress_.size());
  for (Progress& progress : progress_) answers.push_back(std::move(progress.answer));
  out_ = WholeAnswer(job_, Llama(), created_, answers, Usage());
}

void Exchange::Fail(const ApiError& error) {
  done_ = true;
  AbortAll();
  if (job_.log) return job_.log->Fail(error.message);
  const std::string body = ErrorBody(error, Llama(), engine_->MaxContext(), job_.route);
  if (job_.stream) return events_.Error(body, out_);
  status_ = error.status;
  out_ = body;
}

UsageCount Exchange::Usage() const {
  UsageCount usage;
  usage.cached = cached_;
  // In a whole answer llama-server counts the first choice only.
  const bool first_only = Llama() && !job_.stream && job_.route != Route::kEmbeddings;
  for (size_t i = 0; i < job_.prompts.size() && (i == 0 || !first_only); ++i) usage.prompt += job_.prompts[i].tokens;
  for (size_t i = 0; i < progress_.size() && (i == 0 || !first_only); ++i) {
    usage.output += Tokens(progress_[i].made);
  }
  return usage;
}

}  // namespace penstock::simulated
