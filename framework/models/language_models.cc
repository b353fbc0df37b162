#include "kusari/framework/models/language_models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/json_text.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/serializers/safetensors.h"

namespace kusari::models {
namespace {

namespace fs = std::filesystem;

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

  int64_t integer(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number_integer() || found->get<int64_t>() < 1) {
      throw ValueError(call_ + ": " + path_.string() + ": \"" + key + "\" is " + shown(key) +
                       ": it must be a positive integer");
    }
    return found->get<int64_t>();
  }
  int64_t integer_or(const char* key, int64_t other) const { return given(key) ? integer(key) : other; }
  double number_or(const char* key, double other) const { return number_in(json_, key, other); }
  double number_in(const nlohmann::json& object, const char* key, double other) const {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return other;
    if (!found->is_number()) throw ValueError(call_ + ": " + path_.string() + ": \"" + key + "\" must be a number");
    return found->get<double>();
  }
  const nlohmann::json* object(const char* key) const {
    const auto found = json_.find(key);
    return found != json_.end() && found->is_object() ? &*found : nullptr;
  }
  bool given(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  bool is(const char* key, const nlohmann::json& value) const { return json_.contains(key) && json_[key] == value; }
  /// Throws for a model whose `key` is there and has another value: we would compute something else.
  void require(const char* key, const std::vector<nlohmann::json>& values) const {
    if (!given(key) || std::find(values.begin(), values.end(), json_[key]) != values.end()) return;
    throw ValueError(call_ + ": " + path_.string() + ": \"" + key + "\" is " + shown(key) + ": it must be " +
                     values[0].dump());
  }

 private:
  std::string shown(const char* key) const { return json_.contains(key) ? json_text(json_[key]) : "missing"; }

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

}  // namespace

L::TransformerLM load_gpt2(const std::string& folder, const PretrainedOptions& options) {
  const char* const call = "models::load_gpt2";
  const ModelConfig config(call, folder);
  config.require("model_type", {"gpt2"});
  config.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  config.require("scale_attn_weights", {true});
  config.require("scale_attn_by_inverse_layer_idx", {false});
  config.require("add_cross_attention", {false});
  const int64_t width = config.integer("n_embd");
  L::TransformerLM model = empty_model(call, config.integer("vocab_size"),
                                       {.block = config.integer("n_positions"),
                                        .layers = config.integer("n_layer"),
                                        .heads = config.integer("n_head"),
                                        .width = width,
                                        .tied = !config.is("tie_word_embeddings", false),
                                        .blocks = {.mlp_width = config.integer_or("n_inner", 4 * width),
                                                   .mlp = L::BlockMlp::gelu_tanh,
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
  config.require("model_type", {"llama", "mistral"});
  config.require("hidden_act", {"silu"});
  config.require("attention_bias", {false});
  config.require("mlp_bias", {false});
  config.require("rope_scaling", {nullptr});
  config.require("sliding_window", {nullptr});
  const int64_t width = config.integer("hidden_size"), heads = config.integer("num_attention_heads");
  const int64_t groups = config.integer_or("num_key_value_heads", heads),
                mlp_width = config.integer("intermediate_size");
  config.require("head_dim", {width / heads});
  double base = config.number_or("rope_theta", 10000);
  if (const nlohmann::json* rope = config.object("rope_parameters")) {
    if (rope->contains("rope_type") && (*rope)["rope_type"] != "default") {
      throw ValueError(std::string(call) + ": " + folder + "/config.json: rope_type is " +
                       json_text((*rope)["rope_type"]) + ": it must be \"default\"");
    }
    base = config.number_in(*rope, "rope_theta", base);
  }
  const bool tied = config.is("tie_word_embeddings", true);
  L::TransformerLM model = empty_model(call, config.integer("vocab_size"),
                                       {.block = config.integer("max_position_embeddings"),
                                        .layers = config.integer("num_hidden_layers"),
                                        .heads = heads,
                                        .width = width,
                                        .tied = tied,
                                        .blocks = {.mlp_width = mlp_width,
                                                   .mlp = L::BlockMlp::gated_silu,
                                                   .norm = L::BlockNorm::rms,
                                                   .eps = config.number_or("rms_norm_eps", 1e-6),
                                                   .groups = groups,
                                                   .nobias = true,
                                                   .rotary_base = base}},
                                       options);

  const Tensors tensors(call, folder);
  const auto load_norm = [&](const std::string& name, const AnyLink& link) {
    tensors.load(name + ".weight", link.get<L::RMSNormalization>()->gamma.array());
  };
  const int64_t side = groups * (width / heads);
  tensors.load("model.embed_tokens.weight", model.wte.W.array());
  for (size_t i = 0; i < model.h.size(); ++i) {
    const L::TransformerBlock& block = model.h[i];
    const std::string at = "model.layers." + std::to_string(i) + ".";
    load_norm(at + "input_layernorm", block.ln_1);
    const Array qkv = block.attn.qkv.W.array(), gate_and_up = block.mlp_in.W.array();
    tensors.load(at + "self_attn.q_proj.weight", qkv.slice(0, 0, width));
    tensors.load(at + "self_attn.k_proj.weight", qkv.slice(0, width, side));
    tensors.load(at + "self_attn.v_proj.weight", qkv.slice(0, width + side, side));
    tensors.load(at + "self_attn.o_proj.weight", block.attn.out.W.array());
    load_norm(at + "post_attention_layernorm", block.ln_2);
    tensors.load(at + "mlp.gate_proj.weight", gate_and_up.slice(0, 0, mlp_width));
    tensors.load(at + "mlp.up_proj.weight", gate_and_up.slice(0, mlp_width, mlp_width));
    tensors.load(at + "mlp.down_proj.weight", block.mlp_out.W.array());
  }
  load_norm("model.norm", model.ln_f);
  if (!tied) tensors.load("lm_head.weight", model.lm_head.array());
  return model;
}

}  // namespace kusari::models
