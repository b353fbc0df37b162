#include "kusari/framework/models/language_models.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/json_text.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/serializers/safetensors.h"

namespace kusari::models {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<nlohmann::json>;

nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw IoError(path.string() + " cannot be read");
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) throw IoError(path.string() + " is damaged: it must be a JSON object");
  return json;
}

/// config.json, whose errors name the file and the key.
class ModelConfig {
 public:
  ModelConfig(const std::string& call, const fs::path& folder)
      : call_{call}, path_{folder / "config.json"}, json_(read_json(path_)) {}

  int64_t integer(const char* key, int64_t least = 1) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number_integer() || found->get<int64_t>() < least) {
      refuse(key, least == 1 ? "be a positive integer" : "be an integer and at least " + std::to_string(least));
    }
    return found->get<int64_t>();
  }
  int64_t integer_or(const char* key, int64_t other, int64_t least = 1) const {
    return given(key) ? integer(key, least) : other;
  }
  double number_or(const char* key, double other) const { return number_in(json_, key, other); }
  double number_in(const nlohmann::json& object, const char* key, double other) const {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return other;
    if (!found->is_number()) throw ValueError(call_ + ": " + path_.string() + ": \"" + key + "\" must be a number");
    return found->get<double>();
  }
  /// One that must be there.
  double positive_in(const nlohmann::json& object, const char* key) const {
    const double value = number_in(object, key, 0);
    if (!(value > 0)) refuse(object, key, "be a positive number");
    return value;
  }
  /// Undefined where the key is not there.
  const nlohmann::json* list(const char* key) const {
    if (!given(key)) return nullptr;
    if (!json_[key].is_array()) refuse(key, "be a list");
    return &json_[key];
  }
  const nlohmann::json* object(const char* key) const {
    if (!given(key)) return nullptr;
    if (!json_[key].is_object()) refuse(key, "be an object");
    return &json_[key];
  }
  bool contains(const char* key) const { return json_.contains(key); }
  bool given(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  bool is(const char* key, const nlohmann::json& value) const { return json_.contains(key) && json_[key] == value; }
  /// Throws for a model whose `key` is there and has another value: we would compute something else.
  void require(const char* key, const Values& values) const { require_in(json_, key, values); }
  void require_in(const nlohmann::json& object, const char* key, const Values& values) const {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return;
    std::string rule;
    for (const nlohmann::json& value : values) {
      if (*found == value) return;
      rule += (rule.empty() ? "be " : " or ") + value.dump();
    }
    refuse(object, key, rule);
  }
  /// `rule` follows "it must".
  [[noreturn]] void refuse(const char* key, const std::string& rule) const { refuse(json_, key, rule); }
  [[noreturn]] void refuse(const nlohmann::json& object, const char* key, const std::string& rule) const {
    throw ValueError(call_ + ": " + path_.string() + ": \"" + key + "\" is " +
                     (object.contains(key) ? json_text(object[key]) : "missing") + ": it must " + rule);
  }

 private:
  std::string call_;
  fs::path path_;
  nlohmann::json json_;
};

/// The tensors of a folder: those of one file or of several.
class Tensors {
 public:
  Tensors(std::string call, const fs::path& folder) : call_{std::move(call)}, folder_{folder.string()} {
    std::set<std::string> files{"model.safetensors"};
    if (const fs::path index = folder / "model.safetensors.index.json"; fs::exists(index)) {
      files.clear();
      const nlohmann::json json = read_json(index);
      const auto map = json.find("weight_map");
      if (map == json.end() || !map->is_object()) throw IoError(index.string() + " is damaged: it has no weight_map");
      for (const auto& [key, file] : map->items()) {
        if (!file.is_string() || fs::path(file.get<std::string>()).has_parent_path()) {
          throw IoError(index.string() + " is damaged: the file of \"" + key + "\" must be the name of one beside it");
        }
        files.insert(file.get<std::string>());
      }
    }
    for (const std::string& file : files) readers_.emplace_back((folder / file).string());
    for (size_t i = 0; i < readers_.size(); ++i) {
      for (const std::string& key : readers_[i].keys()) places_[key] = i;
    }
  }
  bool contains(const std::string& key) const { return places_.contains(key); }
  Array read(const std::string& key) const {
    const auto found = places_.find(key);
    if (found == places_.end()) throw KeyError(call_ + ": " + folder_ + " has no tensor \"" + key + "\"");
    return readers_[found->second].array(key);
  }
  /// Fills a parameter, or rows of it. `transposed`: with numbers that the file keeps as (in, out).
  void load(const std::string& key, const Array& into, bool transposed = false) const {
    Array value = read(key);
    if (transposed && value.ndim() == 2) value = functions::transpose(Variable(value, false)).array();
    if (value.shape() != into.shape()) {
      throw TypeError(call_ + ": " + folder_ + ": the tensor \"" + key + "\" has shape " + to_string(value.shape()) +
                      ": config.json says " + to_string(into.shape()));
    }
    into.copy_from(value);
  }

 private:
  std::string call_, folder_;
  std::vector<serializers::SafetensorsReader> readers_;
  std::map<std::string, size_t> places_;
};

struct Rotary {
  double base;
  functions::RotaryScaling scaling;
};

// How pairs turn, as config.json had it before transformers 5 (rope_theta, rope_scaling) or has it since
// (rope_parameters). `places`: that the model was trained for, unless it says otherwise.
Rotary rotary_of(const ModelConfig& config, int64_t places) {
  config.require("partial_rotary_factor", {1});
  Rotary result{config.number_or("rope_theta", 10000), {}};
  const nlohmann::json* object = config.object("rope_scaling");  // transformers prefers it
  if (object == nullptr || object->empty()) object = config.object("rope_parameters");
  if (object == nullptr) return result;
  const nlohmann::json& rope = *object;
  result.base = config.number_in(rope, "rope_theta", result.base);
  config.require_in(rope, "partial_rotary_factor", {1});
  const char* const key = rope.contains("rope_type") || !rope.contains("type") ? "rope_type" : "type";
  const Values types{"default", "linear", "llama3"};
  config.require_in(rope, key, types);
  const std::string type = rope.contains(key) && !rope[key].is_null() ? rope[key].get<std::string>() : "";
  // Parameters of we do not know what, such as those of several kinds of layers.
  if (type.empty() && rope.size() > rope.count("rope_theta")) config.refuse(rope, key, "be there");
  if (type == "linear" || type == "llama3") result.scaling.factor = config.positive_in(rope, "factor");
  if (type != "llama3") return result;
  result.scaling.trained = places;
  if (rope.contains("original_max_position_embeddings")) {
    result.scaling.trained = std::llround(config.positive_in(rope, "original_max_position_embeddings"));
  }
  result.scaling.low = config.positive_in(rope, "low_freq_factor");
  result.scaling.high = config.positive_in(rope, "high_freq_factor");
  if (result.scaling.high <= result.scaling.low) {
    config.refuse(rope, "high_freq_factor", "be more than low_freq_factor");
  }
  return result;
}

using Windows = std::vector<std::optional<int64_t>>;

// Which layers attend to a window: "layer_types" says it, or Qwen's first layers do not. Mistral has one kind of
// layers.
std::vector<bool> sliding_layers(const ModelConfig& config, int64_t layers, bool has_window) {
  const bool is_mistral = config.is("model_type", "mistral");
  const nlohmann::json* const types = config.list("layer_types");
  std::vector<bool> result;
  if (types == nullptr) {
    const int64_t first = is_mistral ? 0 : config.integer_or("max_window_layers", 28, 0);  // transformers' default
    for (int64_t i = 0; i < layers; ++i) result.push_back(has_window && i >= first);
    return result;
  }
  if (static_cast<int64_t>(types->size()) != layers) {
    config.refuse("layer_types", "have an entry for each of " + std::to_string(layers) + " layers");
  }
  for (const nlohmann::json& type : *types) {
    const bool is_sliding = type == "sliding_attention";
    if (!is_sliding && type != "full_attention") {
      config.refuse("layer_types", "hold \"full_attention\" and \"sliding_attention\" alone");
    }
    if (is_sliding && !has_window) config.refuse("layer_types", "hold \"full_attention\" alone: there is no window");
    if (!is_sliding && has_window && is_mistral) config.refuse("layer_types", "hold \"sliding_attention\" alone");
    result.push_back(is_sliding);
  }
  return result;
}

// The window of each layer of a text of so many places; nothing where no layer has one that a text is longer than.
Windows windows_of(const ModelConfig& config, int64_t layers, int64_t places) {
  const auto given = [&](int64_t otherwise) -> std::optional<int64_t> {
    if (config.contains("sliding_window") && !config.given("sliding_window")) return {};
    return config.integer_or("sliding_window", otherwise);
  };
  constexpr int64_t kWindow = 4096;  // transformers' default
  if (config.is("model_type", "llama")) {
    if (given(places).value_or(places) < places) {  // which transformers does not know, and others do
      config.refuse("sliding_window", "not be less than the places of a text: give the option block, at most that");
    }
    return {};
  }
  config.require("use_sliding_window", {false, true});
  const bool has_windows = config.is("model_type", "mistral") || config.is("use_sliding_window", true);
  const std::optional<int64_t> window = has_windows ? given(kWindow) : std::nullopt;
  const std::vector<bool> sliding = sliding_layers(config, layers, window.has_value());
  if (!window || *window >= places) return {};
  Windows result;
  for (const bool is_sliding : sliding) result.push_back(is_sliding ? window : std::nullopt);
  return result;
}

// A model without numbers yet.
L::TransformerLM empty_model(const char* call, int64_t words, L::TransformerLMOptions options,
                             const PretrainedOptions& wanted) {
  argument::not_negative(call, "block", wanted.block);
  if (wanted.block > 0) options.block = std::min(options.block, wanted.block);
  options.blocks.initial_w = options.blocks.initial_w_out = 0;
  L::TransformerLM model(words, options);
  model.to(wanted.dtype);
  return model;
}

// Rotation turns pairs of a head's numbers.
void check_head_width(const ModelConfig& config, int64_t width, int64_t heads) {
  if (config.given("head_dim")) {
    if (config.integer("head_dim") % 2 != 0) config.refuse("head_dim", "be even: rotation turns pairs of numbers");
  } else if (!config.is("model_type", "qwen3") && width % (2 * heads) != 0) {
    config.refuse("hidden_size", "be a multiple of 2 num_attention_heads, " + std::to_string(2 * heads) +
                                     ", without a head_dim: rotation turns pairs of numbers");
  }
}

}  // namespace

L::TransformerLM load_gpt2(const std::string& folder, const PretrainedOptions& options) {
  const char* const call = "models::load_gpt2";
  const ModelConfig config(call, folder);
  config.require("model_type", {"gpt2"});
  config.require("activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu", "relu", "silu"});
  const L::BlockMlp mlp = config.is("activation_function", "gelu")   ? L::BlockMlp::gelu
                          : config.is("activation_function", "relu") ? L::BlockMlp::relu
                          : config.is("activation_function", "silu") ? L::BlockMlp::silu
                                                                     : L::BlockMlp::gelu_tanh;
  config.require("scale_attn_weights", {true, false});
  config.require("scale_attn_by_inverse_layer_idx", {false, true});
  config.require("add_cross_attention", {false});
  const int64_t width = config.integer("n_embd"), heads = config.integer("n_head");
  L::TransformerLM model = empty_model(call, config.integer("vocab_size"),
                                       {.block = config.integer("n_positions"),
                                        .layers = config.integer("n_layer"),
                                        .heads = heads,
                                        .width = width,
                                        .tied = !config.is("tie_word_embeddings", false),
                                        .blocks = {.mlp_width = config.integer_or("n_inner", 4 * width),
                                                   .mlp = mlp,
                                                   .eps = config.number_or("layer_norm_epsilon", 1e-5)}},
                                       options);

  const Tensors tensors(call, folder);
  const std::string root = tensors.contains("transformer.wte.weight") ? "transformer." : "";
  const auto load_norm = [&](const std::string& name, const AnyLink& link) {
    const auto& norm = *link.get<L::LayerNormalization>();
    tensors.load(root + name + ".weight", norm.gamma.array());
    tensors.load(root + name + ".bias", norm.beta.array());
  };
  const auto load_product = [&](const std::string& name, const L::Linear& link) {
    tensors.load(root + name + ".weight", link.W.array(), true);  // GPT-2 keeps (in, out)
    tensors.load(root + name + ".bias", link.b.array());
  };
  // Where scores have another factor than 1 / sqrt(D), queries are made that much larger.
  const auto scale_queries = [&](const L::Linear& qkv, size_t layer) {
    const int64_t head_width = width / heads;
    double factor = config.is("scale_attn_weights", false) ? std::sqrt(static_cast<double>(head_width)) : 1;
    if (config.is("scale_attn_by_inverse_layer_idx", true)) factor /= static_cast<double>(layer + 1);
    if (factor == 1) return;
    for (const Array& all : {qkv.W.array(), qkv.b.array()}) all.slice(0, 0, width) *= factor;
  };
  tensors.load(root + "wte.weight", model.wte.W.array());
  const Array places = tensors.read(root + "wpe.weight");
  if (places.ndim() != 2 || places.shape()[0] < model.block() || places.shape()[1] != width) {
    throw TypeError(std::string(call) + ": " + folder + ": wpe.weight has shape " + to_string(places.shape()) +
                    ": config.json says (" + std::to_string(config.integer("n_positions")) + ", " +
                    std::to_string(width) + ")");
  }
  model.wpe.array().copy_from(places.slice(0, 0, model.block()));
  for (size_t i = 0; i < model.h.size(); ++i) {
    const std::string at = "h." + std::to_string(i) + ".";
    load_norm(at + "ln_1", model.h[i].ln_1);
    load_product(at + "attn.c_attn", model.h[i].attn.qkv);
    scale_queries(model.h[i].attn.qkv, i);
    load_product(at + "attn.c_proj", model.h[i].attn.out);
    load_norm(at + "ln_2", model.h[i].ln_2);
    load_product(at + "mlp.c_fc", model.h[i].mlp_in);
    load_product(at + "mlp.c_proj", model.h[i].mlp_out);
  }
  load_norm("ln_f", model.ln_f);
  if (model.lm_head.is_defined()) tensors.load("lm_head.weight", model.lm_head.array());
  return model;
}

L::TransformerLM load_llama(const std::string& folder, const PretrainedOptions& options) {
  const char* const call = "models::load_llama";
  const ModelConfig config(call, folder);
  config.require("model_type", {"llama", "mistral", "qwen2", "qwen3"});
  config.require("hidden_act", {"silu"});
  const bool is_llama = config.is("model_type", "llama"), is_mistral = config.is("model_type", "mistral");
  const bool is_qwen2 = config.is("model_type", "qwen2"), is_qwen3 = config.is("model_type", "qwen3");
  if (!is_qwen2) config.require("attention_bias", is_mistral ? Values{false} : Values{false, true});
  config.require("mlp_bias", is_llama ? Values{false, true} : Values{false});
  const bool has_bias = !is_qwen2 && config.is("attention_bias", true);
  const int64_t width = config.integer("hidden_size"), heads = config.integer("num_attention_heads");
  check_head_width(config, width, heads);
  const int64_t groups = config.integer_or("num_key_value_heads", heads),
                mlp_width = config.integer("intermediate_size"), places = config.integer("max_position_embeddings");
  const int64_t head_width = config.integer_or("head_dim", is_qwen3 ? 128 : width / heads);
  const auto [base, scaling] = rotary_of(config, places);
  const bool tied = config.is("tie_word_embeddings", true);
  const double eps = config.number_or("rms_norm_eps", 1e-6);
  const int64_t layers = argument::count(call, "num_hidden_layers", config.integer("num_hidden_layers"));
  const int64_t longest = options.block > 0 ? std::min(options.block, places) : places;
  L::TransformerLM model = empty_model(call, config.integer("vocab_size"),
                                       {.block = places,
                                        .layers = layers,
                                        .heads = heads,
                                        .width = width,
                                        .tied = tied,
                                        .blocks = {.mlp_width = mlp_width,
                                                   .mlp = L::BlockMlp::gated_silu,
                                                   .norm = L::BlockNorm::rms,
                                                   .eps = eps,
                                                   .groups = groups,
                                                   .head_width = head_width,
                                                   .nobias = true,
                                                   .qkv_bias = is_qwen2 || has_bias,
                                                   .out_bias = has_bias,
                                                   .mlp_bias = config.is("mlp_bias", true),
                                                   .head_norm = is_qwen3,
                                                   .rotary_base = base,
                                                   .rotary_scaling = scaling},
                                        .windows = windows_of(config, layers, longest)},
                                       options);

  const Tensors tensors(call, folder);
  const auto load_norm = [&](const std::string& name, const L::RMSNormalization& norm) {
    tensors.load(name + ".weight", norm.gamma.array());
  };
  const auto load_product = [&](const std::string& name, const L::Linear& link, int64_t first, int64_t count) {
    tensors.load(name + ".weight", link.W.array().slice(0, first, count));
    if (link.b.is_defined()) tensors.load(name + ".bias", link.b.array().slice(0, first, count));
  };
  const int64_t own = heads * head_width, side = groups * head_width;
  tensors.load("model.embed_tokens.weight", model.wte.W.array());
  for (size_t i = 0; i < model.h.size(); ++i) {
    const L::TransformerBlock& block = model.h[i];
    const std::string at = "model.layers." + std::to_string(i) + ".";
    load_norm(at + "input_layernorm", *block.ln_1.get<L::RMSNormalization>());
    load_product(at + "self_attn.q_proj", block.attn.qkv, 0, own);
    load_product(at + "self_attn.k_proj", block.attn.qkv, own, side);
    load_product(at + "self_attn.v_proj", block.attn.qkv, own + side, side);
    load_product(at + "self_attn.o_proj", block.attn.out, 0, width);
    if (is_qwen3) {
      load_norm(at + "self_attn.q_norm", block.attn.q_norm);
      load_norm(at + "self_attn.k_norm", block.attn.k_norm);
    }
    load_norm(at + "post_attention_layernorm", *block.ln_2.get<L::RMSNormalization>());
    load_product(at + "mlp.gate_proj", block.mlp_in, 0, mlp_width);
    load_product(at + "mlp.up_proj", block.mlp_in, mlp_width, mlp_width);
    load_product(at + "mlp.down_proj", block.mlp_out, 0, width);
  }
  load_norm("model.norm", *model.ln_f.get<L::RMSNormalization>());
  if (!tied) tensors.load("lm_head.weight", model.lm_head.array());
  return model;
}

}  // namespace kusari::models
