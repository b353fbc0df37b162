#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/loss/token_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/attention/generate.h"
#include "kusari/framework/links/attention/transformer_block.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/model/transformer_lm.h"
#include "kusari/framework/links/normalization/layer_normalization.h"
#include "kusari/optimizers/decoupled_adamw.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/replay_overhead.h"
#include "kusari/tools/kusari-bench/training.h"
#include "kusari/updaters/static_step.h"

namespace bench {
namespace {

using kusari::Variable;
namespace F = kusari::functions;
namespace L = kusari::links;

struct GptSizes {
  const char* name;
  int64_t layers, heads, width, block;
  double dropout = 0;
};

constexpr int64_t kCharacters = 65, kTexts = 12;

class Gpt : public kusari::Chain {
 public:
  explicit Gpt(const GptSizes& s)
      : wte{*this, "wte", kCharacters, s.width}, wpe{*this, "wpe", s.block, s.width}, ln_f{*this, "ln_f", s.width} {
    for (int64_t i = 0; i < s.layers; ++i) {
      h.append(L::TransformerBlock(s.width, s.heads, {.is_causal = true, .dropout = s.dropout}));
    }
  }
  Variable operator()(const Variable& ids, const Variable& places) const {
    Variable x = wte(ids) + wpe(places);
    for (const L::TransformerBlock& block : h) x = block(x);
    return F::linear(ln_f(x), wte.W, Variable(), {.n_batch_axes = 2});
  }
  kusari::Child<L::EmbedID> wte, wpe;
  kusari::Child<kusari::ChainList<L::TransformerBlock>> h{*this, "h"};
  kusari::Child<L::LayerNormalization> ln_f;
};

void train_gpt(const Settings& settings, const GptSizes& sizes) {
  Gpt model(sizes);
  kusari::optimizers::DecoupledAdamW optimizer({.lr = 1e-3, .beta2 = 0.99, .weight_decay_rate = 0.1});
  model.to(settings.device);
  optimizer.setup(model);
  prepare_for(settings, optimizer);
  const int64_t count = kTexts * sizes.block;
  const auto on_device = [&](const kusari::Array& numbers, int64_t texts) {
    return Variable(numbers.reshape({texts, sizes.block}).to_device(settings.device), false);
  };
  const Variable ids = on_device(draw_labels(count, kCharacters), kTexts);
  const Variable next = on_device(draw_labels(count, kCharacters), kTexts);
  const Variable places = on_device(kusari::arange(sizes.block, kusari::Dtype::int32), 1);
  const auto loss_of = [&](const Variable& x, const Variable& t) {
    return F::token_cross_entropy(model(x, places), t);
  };
  std::optional<kusari::updaters::StaticStep> replayed;
  if (settings.static_graph == "step" || settings.replay_overhead) {
    replayed.emplace(
        kusari::StaticGraphOptions{.passes = settings.replay_overhead ? kusari::StaticGraphPasses::none()
                                                                      : kusari::StaticGraphPasses()},
        [&](kusari::Optimizer&, std::span<const Variable> in) { return loss_of(in[0], in[1]); }, false);
  }
  const Variable inputs[] = {ids, next};
  const auto loss = [&] { return loss_of(ids, next); };
  if (settings.gradient_times) return report_gradient_times(settings, sizes.name, kTexts, model, optimizer, loss);
  if (settings.replay_overhead) {
    return report_replay_overhead(
        settings, sizes.name, [&] { optimizer.update(loss); }, [&] { replayed->update(optimizer, inputs); });
  }
  const Samples samples = sample(settings, [&] {
    if (replayed) return replayed->update(optimizer, inputs);
    optimizer.update(loss);
  });
  report(settings, sizes.name, "ms/step", samples, 1e3,
         ",\"params\":" + std::to_string(model.count_params()) + static_graph_field(settings));
}

// Tokens one after the other behind a prompt, each the likeliest, with a cache.
void generate_text(const Settings& settings, const char* name, int64_t words, const L::TransformerLMOptions& options) {
  constexpr int64_t kPrompt = 128, kNew = 128;
  L::TransformerLM model(words, options);
  model.to(settings.dtype.dtype());
  model.to(settings.device);
  const auto no_graph = kusari::no_backprop_mode();
  const auto test_mode = kusari::using_config(&kusari::Config::train, false);
  kusari::KVCache cache = model.cache(kPrompt + kNew);
  const Variable prompt(draw_labels(kPrompt, words).reshape({1, kPrompt}).to_device(settings.device), false);
  const std::string field = ",\"params\":" + std::to_string(model.count_params());
  const Samples prompts = sample(settings, [&] {
    cache.truncate(0);
    model.next(prompt, &cache);
  });
  report(settings, (std::string(name) + ".prompt").c_str(), "ms", prompts, 1e3, field);
  const Samples tokens = sample(settings, [&] {
    cache.truncate(kPrompt);
    int64_t token = 0;
    for (int64_t i = 0; i < kNew; ++i) {
      const std::vector<int32_t> id{static_cast<int32_t>(token)};
      const Variable scores = model.next(Variable(kusari::array(id, {1, 1}).to_device(settings.device), false), &cache);
      token = kusari::draw_token(scores.array().reshape({words}), {}, {.temperature = 0}, 0);
    }
  });
  report(settings, name, "ms/token", tokens, 1e3 / static_cast<double>(kNew), field);
}

}  // namespace

void transformer_infer(const Settings& settings) {
  generate_text(settings, "transformer_infer", 50257, {});  // GPT-2's sizes
  generate_text(settings, "transformer_infer.15m", 32000,   // those of llama2.c's stories15M
                {.block = 256,
                 .layers = 6,
                 .heads = 6,
                 .width = 288,
                 .blocks = {.mlp_width = 768,
                            .mlp = L::BlockMlp::gated_silu,
                            .norm = L::BlockNorm::rms,
                            .eps = 1e-5,
                            .nobias = true,
                            .rotary_base = 10000}});
}

void gpt_small(const Settings& settings) {
  train_gpt(settings, {"gpt_small", 6, 6, 384, 256});
  train_gpt(settings, {"gpt_small.dropout", 6, 6, 384, 256, 0.2});
}

void gpt_nano(const Settings& settings) { train_gpt(settings, {"gpt_nano", 4, 4, 128, 64}); }

void attention(const Settings& settings) {
  const auto drawn = [&] {
    return Variable(draw_normal({8, 6, 1024, 64}).to_device(settings.device).astype(settings.dtype.dtype()));
  };
  const Variable q = drawn(), k = drawn(), v = drawn();
  for (const double dropout : {0.0, 0.1}) {
    const Samples samples = sample(settings, [&] {
      for (Variable x : {q, k, v}) x.cleargrad();
      F::sum(F::scaled_dot_product_attention(q, k, v, {.is_causal = true, .dropout = dropout})).backward();
    });
    report(settings, dropout == 0 ? "attention" : "attention.dropout", "ms", samples, 1e3);
  }
}

}  // namespace bench
