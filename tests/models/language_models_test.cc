#include "kusari/framework/models/language_models.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/attention/generate.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/tests/scratch_directory.h"

// tests/golden/language_models: small models that transformers saved, and the scores that it computes with them.
namespace kusari::language_models_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kGolden = fs::path(KUSARI_SOURCE_DIR) / "tests/golden/language_models";

void check_scores(const L::TransformerLM& model, const std::string& name, double tolerance) {
  const serializers::NpzReader golden((kGolden / name / "scores.npz").string());
  const Variable y = model(Variable(golden.array("ids"), false));
  const Array expected = golden.array("logits");
  REQUIRE(y.shape() == expected.shape());
  const auto a = Variable(y.array().astype(Dtype::float32)).to_vector<float>(), b = expected.to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(static_cast<double>(a[i] - b[i])));
  CHECK(worst < tolerance);
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
  CHECK_THROWS_WITH_AS(gpt2({{"activation_function", "relu"}}),
                       doctest::Contains("\"activation_function\" is \"relu\""), ValueError);
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
                       doctest::Contains("rope_type is \"yarn\""), ValueError);
  CHECK_THROWS_WITH_AS(llama({{"rope_scaling", {{"factor", 8}}}}), doctest::Contains("\"rope_scaling\""), ValueError);
  CHECK_THROWS_WITH_AS(llama({{"head_dim", 8}}), doctest::Contains("\"head_dim\" is 8: it must be 4"), ValueError);
  CHECK_THROWS_WITH_AS(llama({{"attention_bias", true}}), doctest::Contains("\"attention_bias\""), ValueError);
  CHECK_THROWS_WITH_AS(models::load_gpt2((kGolden / "gpt2").string(), {.block = -1}),
                       doctest::Contains("models::load_gpt2: block is -1"), ValueError);
  const fs::path folder = changed(scratch, "gpt2", json::object());
  std::ofstream(folder / "config.json") << "{";
  CHECK_THROWS_WITH_AS(models::load_gpt2(folder.string()), doctest::Contains("is damaged"), IoError);
}

}  // namespace kusari::language_models_test
