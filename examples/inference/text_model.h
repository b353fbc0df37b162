#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kusari/framework/inference/inference_session.h>
#include <kusari/framework/onnx/load.h>
#include <kusari/kusari.h>

// A language model in an ONNX file, for kusari::generate. Either a step with caches, as export_step writes it, or one
// that gives scores (1, T, words) for a text (1, T), with `attention_mask` and `position_ids` (1, T) if it asks for
// them: that reads the whole text anew for each token, filled up to one of few lengths behind its end, where none may
// look.
class TextModel {
 public:
  explicit TextModel(const std::string& path, std::optional<kusari::Dtype> dtype = {})
      : TextModel(kusari::onnx::load(path), dtype) {}

  // The scores of what comes after a text that goes on by `ids`, (1, T), integers. Where the text becomes longer than
  // the model's block, the last half of that is read anew, and the rest forgotten.
  kusari::Variable operator()(const kusari::Variable& ids) {
    for (const int64_t id : ids.array().to_vector<int64_t>()) text_.push_back(id);
    if (block_ > 0 && static_cast<int64_t>(text_.size()) > block_) {
      text_.erase(text_.begin(), text_.end() - static_cast<ptrdiff_t>((block_ + 1) / 2));
      done_ = 0;
    }
    if (!is_step_) return whole();
    for (; done_ < static_cast<int64_t>(text_.size()); ++done_) step();
    return {scores_, false};
  }

  // Begins a new text.
  void clear() {
    text_.clear();
    done_ = 0;
  }
  // Tokens that the model sees at once; -1: any number.
  int64_t block() const { return block_; }
  const kusari::InferenceSession& session() const { return *session_; }

 private:
  TextModel(kusari::onnx::Model model, std::optional<kusari::Dtype> dtype) : inputs_{model.inputs()} {
    using namespace kusari;
    const auto shape = [&](size_t i) { return inputs_[i].shape.value_or(std::vector<int64_t>()); };
    is_step_ = inputs_.size() >= 4 && inputs_[0].name == "ids" && inputs_[1].name == "place";
    if (is_step_) {
      for (size_t i = 2; i < inputs_.size(); ++i) {
        Shape cache(shape(i));
        cache[0] = 1;
        caches_.push_back(zeros(cache));
        new_caches_.push_back(zeros(cache));
      }
      block_ = caches_[0].shape(2);
    } else {
      for (size_t i = 1; i < inputs_.size(); ++i) {
        if (inputs_[i].name == "attention_mask" || inputs_[i].name == "position_ids") continue;
        throw ValueError("the language model has an input '" + inputs_[i].name +
                         "': besides the text it may have attention_mask and position_ids");
      }
      if (shape(0).size() != 2) throw ValueError("the language model's first input must be the ids of a text, (1, T)");
      block_ = shape(0)[1];
    }
    session_.emplace(std::move(model), InferenceSessionOptions{.name = "language model", .dtype = dtype});
  }

  void step() {
    using namespace kusari;
    Arrays inputs{array(std::vector<int64_t>{text_[static_cast<size_t>(done_)]}, {1, 1}),
                  array(std::vector<int64_t>{done_}, {1, 1})};
    for (const Array& cache : caches_) inputs.push_back(cache);
    if (!scores_.is_defined()) {
      const Arrays outputs = session_->run(inputs);
      scores_ = outputs[0];
      for (size_t i = 0; i < caches_.size(); ++i) new_caches_[i] = outputs[i + 1];
    } else {
      Arrays outputs{scores_};
      for (const Array& cache : new_caches_) outputs.push_back(cache);
      session_->run(inputs, outputs);
    }
    std::swap(caches_, new_caches_);
  }

  kusari::Variable whole() {
    using namespace kusari;
    constexpr int64_t kSteps = 32;  // lengths are multiples of it where any goes
    const auto count = static_cast<int64_t>(text_.size());
    const int64_t length = block_ > 0 ? block_ : (count + kSteps - 1) / kSteps * kSteps;
    Arrays inputs;
    for (const onnx::Argument& input : inputs_) {
      std::vector<int64_t> row(static_cast<size_t>(length));
      for (int64_t i = 0; i < length; ++i) {
        row[static_cast<size_t>(i)] = input.name == "position_ids"     ? i
                                      : i >= count                     ? 0
                                      : input.name == "attention_mask" ? 1
                                                                       : text_[static_cast<size_t>(i)];
      }
      inputs.push_back(array(row, {1, length}).astype(input.dtype.value_or(Dtype::int64)));
    }
    const Array scores = session_->run(inputs)[0];
    if (scores.ndim() != 3 || scores.shape(1) != length) {
      throw ValueError("the language model gives scores of shape " + to_string(scores.shape()) + ": it must be (1, " +
                       std::to_string(length) + ", words)");
    }
    return {scores.slice(1, count - 1, 1), false};
  }

  std::vector<kusari::onnx::Argument> inputs_;
  bool is_step_ = false;
  int64_t block_ = -1;
  std::optional<kusari::InferenceSession> session_;
  std::vector<int64_t> text_;
  int64_t done_ = 0;  // tokens of text_ that are in the caches
  kusari::Array scores_;
  std::vector<kusari::Array> caches_, new_caches_;
};
