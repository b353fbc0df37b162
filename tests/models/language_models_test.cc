#include "kusari/framework/models/language_models.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/attention/generate.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/framework/xp/joining.h"
#include "kusari/tests/scratch_directory.h"

// tests/golden/language_models: small models that transformers saved, and the scores that it computes with them.
namespace kusari::language_models_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kGolden = fs::path(KUSARI_SOURCE_DIR) / "tests/golden/language_models";

void check_near(const Array& got, const Array& expected, double tolerance) {
  REQUIRE(got.shape() == expected.shape());
  const auto a = got.astype(Dtype::float32).to_vector<float>(), b = expected.to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(static_cast<double>(a[i] - b[i])));
  CHECK(worst < tolerance);
}
void check_scores(const L::TransformerLM& model, const std::string& name, double tolerance) {
  CAPTURE(name);
  const serializers::NpzReader golden((kGolden / name / "scores.npz").string());
  check_near(model(Variable(golden.array("ids"), false)).array(), golden.array("logits"), tolerance);
}

/// Of the shape of Llama, whose scores are of texts longer than those that llama_3 was trained for.
const std::string kOthers[] = {"llama_3", "mistral_linear", "qwen2", "qwen3", "mistral_window", "qwen2_mixed"};
L::TransformerLM other(const std::string& name, Dtype dtype = Dtype::float32) {
  return models::load_llama((kGolden / name).string(), {.dtype = dtype});
}

/// A copy of a golden model's folder whose config.json has other entries.
fs::path changed(const testing::ScratchDirectory& scratch, const std::string& name, const json& changes) {
  const fs::path folder = fs::path(scratch.path()) / "model";
  fs::remove_all(folder);
  fs::copy(kGolden / name, folder);
  std::ifstream in(kGolden / name / "config.json");
  json config = json::parse(in);
  config.merge_patch(changes);
  std::ofstream(folder / "config.json") << config;
  return folder;
}

}  // namespace

TEST_CASE("models of transformers give its scores") {
  check_scores(models::load_gpt2((kGolden / "gpt2").string()), "gpt2", 1e-6);
  check_scores(models::load_llama((kGolden / "llama").string()), "llama", 1e-6);
  check_scores(models::load_llama((kGolden / "llama_tied_bfloat16").string()), "llama_tied_bfloat16", 1e-6);
  check_scores(models::load_llama((kGolden / "llama").string(), {.dtype = Dtype::bfloat16}), "llama", 0.02);
  const L::TransformerLM short_texts = models::load_gpt2((kGolden / "gpt2").string(), {.block = 10});
  CHECK(short_texts.block() == 10);
  check_scores(short_texts, "gpt2", 1e-6);
  CHECK(models::load_gpt2((kGolden / "gpt2").string(), {.block = 99}).block() == 12);
}

TEST_CASE("models of the shape of Llama give the scores of transformers") {
  for (const std::string& name : kOthers) {
    check_scores(other(name), name, 2e-5);
    check_scores(other(name, Dtype::float16), name, 0.03);
    check_scores(other(name, Dtype::bfloat16), name, 0.25);
  }
}

TEST_CASE("activations of GPT-2") {
  const testing::ScratchDirectory scratch;
  const serializers::NpzReader golden((kGolden / "gpt2/activations.npz").string());
  const Variable ids(golden.array("ids"), false);
  const auto scores = [&](const json& activation) {
    const fs::path folder = changed(scratch, "gpt2", {{"activation_function", activation}});
    return models::load_gpt2(folder.string())(ids).array();
  };
  for (const char* const name : {"gelu", "relu", "silu"}) {
    CAPTURE(name);
    check_near(scores(name), golden.array(name), 1e-6);
  }
  const serializers::NpzReader tanh((kGolden / "gpt2/scores.npz").string());
  for (const json& name : {json("gelu_pytorch_tanh"), json()}) check_near(scores(name), tanh.array("logits"), 1e-6);
}

TEST_CASE("scores of GPT-2 with other factors") {
  const testing::ScratchDirectory scratch;
  const serializers::NpzReader golden((kGolden / "gpt2/attention_scales.npz").string());
  const Variable ids(golden.array("ids"), false);
  const auto check = [&](const std::string& name, const json& changes) {
    CAPTURE(name);
    check_near(models::load_gpt2(changed(scratch, "gpt2", changes).string())(ids).array(), golden.array(name), 1e-6);
  };
  check("unscaled", {{"scale_attn_weights", false}});
  check("by_layer", {{"scale_attn_by_inverse_layer_idx", true}});
  check("unscaled_by_layer", {{"scale_attn_weights", false}, {"scale_attn_by_inverse_layer_idx", true}});
  check("by_layer", {{"scale_attn_by_inverse_layer_idx", true}, {"reorder_and_upcast_attn", true}});
}

TEST_CASE("rotation as files of transformers 4 have it") {
  const testing::ScratchDirectory scratch;
  const auto check = [&](const std::string& name, json changes) {
    changes["rope_parameters"] = nullptr;
    check_scores(models::load_llama(changed(scratch, name, changes).string()), name, 2e-5);
  };
  const json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8},
                       {"original_max_position_embeddings", 32},
                       {"low_freq_factor", 1},
                       {"high_freq_factor", 4}};
  check("llama_3", {{"rope_theta", 300}, {"rope_scaling", llama3}});
  check("mistral_linear", {{"rope_theta", 10000}, {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}});
  check("mistral_linear", {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 10000}}}});
  check("qwen2", {{"rope_theta", 10000}, {"rope_scaling", json::object()}});
}

TEST_CASE("models of the shape of Llama with a cache, as static graphs, and saved") {
  const testing::ScratchDirectory scratch;
  const auto mode = no_backprop_mode();
  for (const std::string& name : kOthers) {
    CAPTURE(name);
    L::TransformerLM model = other(name);
    const serializers::NpzReader golden((kGolden / name / "scores.npz").string());
    const Array ids = golden.array("ids"), expected = golden.array("logits");
    KVCache cache = model.cache();
    check_near(model(Variable(ids.slice(1, 0, 5).copy(), false), &cache).array(), expected.slice(1, 0, 5).copy(), 2e-5);
    for (int64_t i = 5; i < ids.shape()[1]; ++i) {
      check_near(model.next(Variable(ids.slice(1, i, 1).copy(), false), &cache).array(), expected.slice(1, i, 1).copy(),
                 2e-5);
    }
    StaticGraph replayed(model);
    for (int round = 0; round < 2; ++round) check_near(replayed(Variable(ids, false)).array(), expected, 2e-5);
    serializers::save_npz(scratch / "model.npz", model);
    L::TransformerLM again = other(name);
    for (Parameter* p : again.params()) p->array().fill(0.5);
    serializers::load_npz(scratch / "model.npz", again);
    check_scores(again, name, 2e-5);
  }
}

TEST_CASE("models that attend to windows generate what transformers does, with a cache and without") {
  for (const std::string name : {"mistral_window", "qwen2_mixed"}) {
    CAPTURE(name);
    const L::TransformerLM model = other(name);
    const serializers::NpzReader golden((kGolden / name / "scores.npz").string());
    const Array prompt = golden.array("ids").slice(1, 0, 5).copy().reshape({5});
    const std::vector<int32_t> expected = golden.array("greedy").to_vector<int32_t>();
    KVCache cache = model.cache();
    const auto text_of = [&](const Callable<Variable(const Variable&)>& scores) {
      return generate(scores, prompt, {.max_new = 20, .temperature = 0}).to_vector<int32_t>();
    };
    CHECK(text_of([&](const Variable& ids) { return model.next(ids, &cache); }) == expected);
    Array text = prompt.reshape({1, 5});
    bool is_first = true;
    CHECK(text_of([&](const Variable& ids) {
            if (!std::exchange(is_first, false)) text = xp::concatenate({text, ids.array()}, 1);
            return model.next(Variable(text, false));
          }) == expected);
  }
}

TEST_CASE("which layers attend to a window") {
  const testing::ScratchDirectory scratch;
  const auto scores = [&](const std::string& name, const json& changes, int64_t block = 0) {
    const L::TransformerLM model = models::load_llama(changed(scratch, name, changes).string(), {.block = block});
    const serializers::NpzReader golden((kGolden / name / "scores.npz").string());
    return model(Variable(golden.array("ids").slice(1, 0, model.block()).copy(), false)).array().to_vector<float>();
  };
  const auto of_block = [&](const std::string& name, int64_t block) { return scores(name, json::object(), block); };
  const json off = {{"sliding_window", nullptr}};
  // Windows that a text fits into, and none.
  CHECK(scores("mistral_linear", {{"sliding_window", 40}}) == scores("mistral_linear", off));
  CHECK(scores("mistral_linear", {{"sliding_window", 39}}) != scores("mistral_linear", off));
  CHECK(of_block("mistral_window", 7) == scores("mistral_window", off, 7));
  CHECK(of_block("mistral_window", 8) != scores("mistral_window", off, 8));
  // A key that is not there is 4096, as in transformers.
  const fs::path folder = changed(scratch, "mistral_linear", json::object());
  std::ifstream in(folder / "config.json");
  json config = json::parse(in);
  config.erase("sliding_window");
  std::ofstream(folder / "config.json") << config;
  check_scores(models::load_llama(folder.string()), "mistral_linear", 2e-5);
  // Layers by their types, or by how many have none.
  const std::vector<float> mixed = of_block("qwen2_mixed", 0);
  CHECK(scores("qwen2_mixed", {{"layer_types", nullptr}}) == mixed);
  CHECK(scores("qwen2_mixed", {{"max_window_layers", 2}}) == mixed);
  const auto by_number = [&](int64_t first) {
    return scores("qwen2_mixed", {{"layer_types", nullptr}, {"max_window_layers", first}});
  };
  const auto by_type = [&](const std::vector<bool>& sliding) {
    std::vector<std::string> types;
    for (const bool is_sliding : sliding) types.emplace_back(is_sliding ? "sliding_attention" : "full_attention");
    return scores("qwen2_mixed", {{"layer_types", types}});
  };
  CHECK(by_number(0) == by_type({true, true, true}));
  CHECK(by_number(0) != mixed);
  CHECK(by_number(2) == by_type({false, false, true}));
  CHECK(by_number(28) == by_type({false, false, false}));
  CHECK(scores("qwen2_mixed", {{"layer_types", nullptr}, {"use_sliding_window", false}}) == by_number(3));
  CHECK(by_type({true, false, true}) != by_type({true, true, false}));
  CHECK(scores("qwen2", {{"sliding_window", 8}}) == of_block("qwen2", 0));

  const auto refuse = [&](const std::string& name, const json& changes, const std::string& text) {
    CHECK_THROWS_WITH_AS(scores(name, changes), doctest::Contains(text.c_str()), ValueError);
  };
  refuse("mistral_window", {{"sliding_window", 0}},
         "config.json: \"sliding_window\" is 0: it must be a positive integer");
  refuse("qwen2_mixed", {{"layer_types", {"full_attention"}}},
         "\"layer_types\" is [\"full_attention\"]: it must have an entry for each of 3 layers");
  refuse("qwen2_mixed", {{"layer_types", {"full_attention", "chunked_attention", "full_attention"}}},
         "it must hold \"full_attention\" and \"sliding_attention\" alone");
  refuse("qwen2_mixed", {{"layer_types", "full_attention"}},
         "\"layer_types\" is \"full_attention\": it must be a list");
  refuse("qwen2_mixed", {{"use_sliding_window", false}}, "it must hold \"full_attention\" alone: there is no window");
  refuse("qwen2_mixed", {{"use_sliding_window", 1}}, "\"use_sliding_window\" is 1: it must be false or true");
  refuse("qwen2_mixed", {{"layer_types", nullptr}, {"max_window_layers", -1}},
         "\"max_window_layers\" is -1: it must be an integer and at least 0");
  refuse("mistral_window", {{"layer_types", {"full_attention", "sliding_attention"}}},
         "it must hold \"sliding_attention\" alone");
  // transformers knows no window of a Llama, others do.
  refuse("llama", {{"sliding_window", 3}},
         "\"sliding_window\" is 3: it must not be less than the places of a text: give the option block, at most that");
  CHECK(scores("llama", {{"sliding_window", 3}}, 3) == of_block("llama", 3));
}

TEST_CASE("weights in several files") {
  const testing::ScratchDirectory scratch;
  const fs::path folder = changed(scratch, "gpt2", json::object());
  const serializers::SafetensorsReader whole((folder / "model.safetensors").string());
  serializers::Dictionary parts[2];
  json index;
  size_t i = 0;
  for (const std::string& key : whole.keys()) {
    const size_t part = i++ % 2;
    parts[part].emplace_back(key, whole.array(key));
    index["weight_map"][key] = "part" + std::to_string(part) + ".safetensors";
  }
  for (const size_t part : {0, 1}) {
    serializers::save_safetensors_dictionary((folder / ("part" + std::to_string(part) + ".safetensors")).string(),
                                             parts[part]);
  }
  fs::remove(folder / "model.safetensors");
  CHECK_THROWS_AS(models::load_gpt2(folder.string()), IoError);
  std::ofstream(folder / "model.safetensors.index.json") << index;
  check_scores(models::load_gpt2(folder.string()), "gpt2", 1e-6);

  index["weight_map"]["wte.weight"] = "../outside.safetensors";
  std::ofstream(folder / "model.safetensors.index.json") << index;
  CHECK_THROWS_WITH_AS(models::load_gpt2(folder.string()), doctest::Contains("must be the name of one beside it"),
                       IoError);
}

TEST_CASE("models that are something else") {
  const testing::ScratchDirectory scratch;
  CHECK_THROWS_WITH_AS(models::load_gpt2((kGolden / "nothing").string()),
                       doctest::Contains("config.json cannot be read"), IoError);
  CHECK_THROWS_WITH_AS(models::load_gpt2((kGolden / "llama").string()),
                       doctest::Contains("\"model_type\" is \"llama\": it must be \"gpt2\""), ValueError);
  const auto gpt2 = [&](const json& changes) { return models::load_gpt2(changed(scratch, "gpt2", changes).string()); };
  const auto llama = [&](const json& changes) {
    return models::load_llama(changed(scratch, "llama", changes).string());
  };
  CHECK_THROWS_WITH_AS(gpt2({{"activation_function", "tanh"}}),
                       doctest::Contains("\"activation_function\" is \"tanh\": it must be \"gelu_new\" or "
                                         "\"gelu_pytorch_tanh\" or \"gelu\" or \"relu\" or \"silu\""),
                       ValueError);
  CHECK_THROWS_WITH_AS(gpt2({{"scale_attn_weights", 2}}),
                       doctest::Contains("\"scale_attn_weights\" is 2: it must be true or false"), ValueError);
  CHECK_THROWS_WITH_AS(gpt2({{"add_cross_attention", true}}),
                       doctest::Contains("\"add_cross_attention\" is true: it must be false"), ValueError);
  CHECK_THROWS_WITH_AS(gpt2({{"n_layer", "two"}}),
                       doctest::Contains("\"n_layer\" is \"two\": it must be a positive integer"), ValueError);
  CHECK_THROWS_WITH_AS(gpt2({{"n_layer", 3}}), doctest::Contains("no tensor \"transformer.h.2.ln_1.weight\""),
                       KeyError);
  CHECK_THROWS_WITH_AS(gpt2({{"n_embd", 16}}), doctest::Contains("\"transformer.wte.weight\" has shape (13, 8)"),
                       TypeError);
  CHECK_THROWS_WITH_AS(gpt2({{"n_positions", 13}}), doctest::Contains("wpe.weight has shape (12, 8)"), TypeError);
  CHECK_THROWS_WITH_AS(gpt2({{"vocab_size", 12}}), doctest::Contains("config.json says (12, 8)"), TypeError);
  CHECK_THROWS_WITH_AS(gpt2({{"vocab_size", 14}}), doctest::Contains("config.json says (14, 8)"), TypeError);
  CHECK_THROWS_WITH_AS(llama({{"rope_parameters", {{"rope_type", "yarn"}}}}),
                       doctest::Contains("\"rope_type\" is \"yarn\": it must be \"default\" or \"linear\" or "
                                         "\"llama3\""),
                       ValueError);
  const auto scaled = [&](const json& scaling) { return llama({{"rope_scaling", scaling}}); };
  CHECK_THROWS_WITH_AS(scaled({{"factor", 8}}), doctest::Contains("\"rope_type\" is missing: it must be there"),
                       ValueError);
  CHECK_THROWS_WITH_AS(scaled(2.0), doctest::Contains("\"rope_scaling\" is 2.0: it must be an object"), ValueError);
  CHECK_THROWS_WITH_AS(scaled({{"type", "dynamic"}}), doctest::Contains("\"type\" is \"dynamic\": it must be"),
                       ValueError);
  CHECK_THROWS_WITH_AS(scaled({{"rope_type", 3}}), doctest::Contains("\"rope_type\" is 3: it must be"), ValueError);
  CHECK_THROWS_WITH_AS(scaled({{"rope_type", "linear"}}),
                       doctest::Contains("\"factor\" is missing: it must be a positive number"), ValueError);
  CHECK_THROWS_WITH_AS(scaled({{"rope_type", "linear"}, {"factor", -1}}), doctest::Contains("\"factor\" is -1"),
                       ValueError);
  CHECK_THROWS_WITH_AS(
      scaled({{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}),
      doctest::Contains("\"high_freq_factor\" is 4: it must be more than low_freq_factor"), ValueError);
  CHECK_THROWS_WITH_AS(scaled({{"rope_type", "linear"}, {"factor", 2}, {"partial_rotary_factor", 0.5}}),
                       doctest::Contains("\"partial_rotary_factor\" is 0.5: it must be 1"), ValueError);
  CHECK_THROWS_WITH_AS(llama({{"head_dim", 5}}),
                       doctest::Contains("\"head_dim\" is 5: it must be even: rotation turns pairs of numbers"),
                       ValueError);
  CHECK_THROWS_WITH_AS(llama({{"head_dim", nullptr}, {"hidden_size", 20}}),
                       doctest::Contains("\"hidden_size\" is 20: it must be a multiple of 2 num_attention_heads, 8"),
                       ValueError);
  CHECK_THROWS_WITH_AS(llama({{"head_dim", 8}}), doctest::Contains("q_proj.weight\" has shape (16, 16)"), TypeError);
  CHECK_THROWS_WITH_AS(llama({{"attention_bias", true}}),
                       doctest::Contains("no tensor \"model.layers.0.self_attn.q_"
                                         "proj.bias\""),
                       KeyError);
  CHECK_THROWS_WITH_AS(llama({{"model_type", "mistral"}, {"attention_bias", true}}),
                       doctest::Contains("\"attention_bias\" is true: it must be false"), ValueError);
  CHECK_THROWS_WITH_AS(llama({{"model_type", "gemma"}}), doctest::Contains("it must be \"llama\" or \"mistral\""),
                       ValueError);
  CHECK_THROWS_WITH_AS(models::load_gpt2((kGolden / "gpt2").string(), {.block = -1}),
                       doctest::Contains("models::load_gpt2: block is -1"), ValueError);
  const fs::path folder = changed(scratch, "gpt2", json::object());
  std::ofstream(folder / "config.json") << "{";
  CHECK_THROWS_WITH_AS(models::load_gpt2(folder.string()), doctest::Contains("is damaged"), IoError);
}

}  // namespace kusari::language_models_test
