#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <kusari/framework/onnx/export_model.h>
#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

// One step of a transformer like GPT-2, L::TransformerLM without options for its blocks, as a function of the next
// token and of what the layers have computed for the tokens before: in an ONNX file a text is then written without
// reading it anew for each token. Caches are as long as a text may be, so that all shapes stay the same.
class CachedStep {
 public:
  CachedStep(const kusari::L::TransformerLM& model, int64_t heads)
      : model_{&model}, heads_{heads}, width_{model.wte.W.shape(1) / heads} {
    using namespace kusari;
    const int64_t block = model.block();
    std::vector<float> here, unseen;
    for (int64_t place = 0; place < block; ++place) {
      for (int64_t other = 0; other < block; ++other) {
        here.push_back(other == place ? 1.0F : 0.0F);
        unseen.push_back(other <= place ? 0.0F : -1e4F);  // float16 has that too
      }
    }
    here_ = array(here, {block, block});
    unseen_ = array(unseen, {block, block});
  }

  // The shape of a cache of keys, or of values.
  kusari::Shape cache_shape(int64_t batch) const { return {batch, heads_, model_->block(), width_}; }

  // xs: the tokens and their places, (B, 1), integers, then keys and values of each layer, (B, heads, block, D), which
  // count before the place alone. Returns the scores of the next tokens, (B, words), and the caches with this place.
  kusari::Variables operator()(std::span<const kusari::Variable> xs) const {
    using namespace kusari;
    const Variable &ids = xs[0], &places = xs[1];
    const int64_t batch = ids.shape()[0], block = model_->block();
    const Variable here = F::reshape(F::embed_id(places, Variable(here_, false)), {batch, 1, block, 1});
    const Variable unseen = F::reshape(F::embed_id(places, Variable(unseen_, false)), {batch, 1, 1, block});
    const auto joined = [&](const Variable& cache, const Variable& x) { return cache * (1 - here) + x * here; };
    Variables results{Variable()};
    Variable x = model_->wte(ids) + F::embed_id(places, model_->wpe);
    for (size_t i = 0; i < model_->h.size(); ++i) {
      const L::TransformerBlock& layer = model_->h[i];
      const Variables parts = F::split_axis(layer.attn.qkv(layer.ln_1(x), 2), 3, 2);
      const Variable keys = joined(xs[2 + 2 * i], heads_of(parts[1]));
      const Variable values = joined(xs[3 + 2 * i], heads_of(parts[2]));
      const Variable products = F::matmul(heads_of(parts[0]), F::transpose(keys, {0, 1, 3, 2}));
      const Variable weights = F::softmax(products * (1 / std::sqrt(static_cast<double>(width_))) + unseen, 3);
      const Variable seen = F::transpose(F::matmul(weights, values), {0, 2, 1, 3});
      x = x + layer.attn.out(F::reshape(seen, {batch, 1, heads_ * width_}), 2);
      x = x + layer.mlp_out(F::gelu(layer.mlp_in(layer.ln_2(x), 2)), 2);
      results.push_back(keys);
      results.push_back(values);
    }
    results[0] = F::linear(F::reshape(model_->ln_f(x), {batch, heads_ * width_}), model_->wte.W);
    return results;
  }

 private:
  // (B, 1, heads D) -> (B, heads, 1, D)
  kusari::Variable heads_of(const kusari::Variable& x) const {
    return kusari::F::reshape(x, {x.shape()[0], heads_, 1, width_});
  }

  const kusari::L::TransformerLM* model_;
  int64_t heads_, width_;  // width_: of a head
  kusari::Array here_, unseen_;
};

// Writes a CachedStep as an ONNX file, for any number of texts at once, with the words that ids stand for.
inline void export_step(kusari::L::TransformerLM& model, int64_t heads, const std::vector<std::string>& words,
                        const std::string& path) {
  using namespace kusari;
  const CachedStep step(model, heads);
  onnx::ExportOptions options{.dynamic_batch = true, .model = &model};
  options.metadata["vocabulary"] = nlohmann::json(words).dump();
  const int64_t batch = 2;
  std::vector<Variable> xs;
  for (const char* const name : {"ids", "place"}) {
    options.input_names.emplace_back(name);
    xs.emplace_back(zeros({batch, 1}, Dtype::int64), false);
  }
  options.output_names.emplace_back("scores");
  for (size_t i = 0; i < model.h.size(); ++i) {
    for (const char* const name : {"keys_", "values_"}) {
      options.input_names.push_back(name + std::to_string(i));
      options.output_names.push_back("new_" + options.input_names.back());
      xs.emplace_back(zeros(step.cache_shape(batch)), false);
    }
  }
  onnx::export_model(step, std::span<const Variable>(xs), path, options);
}
