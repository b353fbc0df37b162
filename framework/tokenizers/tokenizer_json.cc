#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/json_text.h"
#include "kusari/framework/tokenizers/state.h"

// tokenizer.json as github.com/huggingface/tokenizers writes it. What is not known throws, because ids would differ.
namespace kusari::tokenizers {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int64_t kMostIds = int64_t{1} << 24;
// GPT-2's, which "ByteLevel" means by itself.
constexpr const char* kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError("tokenizers::load: " + path.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A value of the file with its path there, for errors: "model.vocab".
class Node {
 public:
  Node(const Json& json, std::string file, std::string path)
      : json_{&json}, file_{std::move(file)}, path_{std::move(path)} {}

  bool has(const char* key) const { return json_->is_object() && json_->contains(key) && !(*json_)[key].is_null(); }
  Node operator[](const char* key) const {
    if (!json_->is_object() || !json_->contains(key)) damaged(std::string("\"") + key + "\" is missing");
    return {(*json_)[key], file_, path_.empty() ? key : path_ + "." + key};
  }
  std::vector<Node> items() const {
    if (!json_->is_array()) damaged("it must be a list");
    std::vector<Node> result;
    for (size_t i = 0; i < json_->size(); ++i) {
      result.emplace_back((*json_)[i], file_, path_ + "[" + std::to_string(i) + "]");
    }
    return result;
  }
  template <class Visit>
  void each(const Visit& visit) const {
    if (!json_->is_object()) damaged("it must be an object");
    for (const auto& [key, value] : json_->items()) visit(key, Node(value, file_, path_ + "." + key));
  }
  std::string text() const {
    if (!json_->is_string()) damaged("it must be a text");
    return json_->get<std::string>();
  }
  int32_t id() const {
    if (!json_->is_number_integer() || json_->get<int64_t>() < 0 || json_->get<int64_t>() >= kMostIds) {
      damaged("it must be an id");
    }
    return json_->get<int32_t>();
  }
  bool flag(const char* key, bool other) const {
    if (!has(key)) return other;
    if (!(*json_)[key].is_boolean()) (*this)[key].damaged("it must be true or false");
    return (*json_)[key].get<bool>();
  }
  std::string text_or(const char* key, const std::string& other) const {
    return has(key) ? (*this)[key].text() : other;
  }
  /// A text that is searched for, or stands for something.
  std::string filled_text() const {
    std::string found = text();
    if (found.empty()) damaged("it is empty");
    return found;
  }
  bool is_list() const { return json_->is_array(); }
  bool is_text() const { return json_->is_string(); }

  [[noreturn]] void damaged(const std::string& what) const {
    throw IoError("tokenizers::load: " + file_ + " is damaged: " + (path_.empty() ? "" : path_ + ": ") + what);
  }
  [[noreturn]] void unknown(const std::string& what) const {
    throw ValueError("tokenizers::load: " + file_ + ": " + path_ + ": " + what + " is not known");
  }
  /// Throws unless the entry `key` is missing, null or of this value.
  void require(const char* key, const Json& value) const {
    if (has(key) && (*json_)[key] != value) unknown(std::string("\"") + key + "\": " + json_text((*json_)[key]));
  }

 private:
  const Json* json_;
  std::string file_, path_;
};

void add_token(Bpe& bpe, const std::string& token, int32_t id, const Node& place) {
  const auto at = static_cast<size_t>(id);
  if (at >= bpe.tokens.size()) bpe.tokens.resize(at + 1);
  if (!bpe.tokens[at].empty() && bpe.tokens[at] != token) place.damaged("its id is that of \"" + bpe.tokens[at] + "\"");
  bpe.tokens[at] = token;
  bpe.ids[token] = id;
}

void read_vocabulary(const Node& vocabulary, Bpe& bpe) {
  vocabulary.each([&](const std::string& token, const Node& id) { add_token(bpe, token, id.id(), id); });
}

void add_merge(Bpe& bpe, const std::string& a, const std::string& b, const Node& place) {
  const auto left = bpe.ids.find(a), right = bpe.ids.find(b), joined = bpe.ids.find(a + b);
  if (left == bpe.ids.end() || right == bpe.ids.end() || joined == bpe.ids.end()) {
    place.damaged("\"" + a + "\", \"" + b + "\" or both together are no tokens");
  }
  bpe.add_merge(left->second, right->second, joined->second);
}

std::pair<std::string, std::string> two_words(const std::string& line, const Node& place) {
  const size_t blank = line.find(' ');
  if (blank == std::string::npos || line.find(' ', blank + 1) != std::string::npos) {
    place.damaged("\"" + line + "\" must be two tokens with a blank between");
  }
  return {line.substr(0, blank), line.substr(blank + 1)};
}

void read_model(const Node& model, Bpe& bpe) {
  if (model.has("type") && model["type"].text() != "BPE") model.unknown("the type \"" + model["type"].text() + "\"");
  model.require("dropout", 0.0);
  model.require("continuing_subword_prefix", "");
  model.require("end_of_word_suffix", "");
  read_vocabulary(model["vocab"], bpe);
  for (const Node& merge : model["merges"].items()) {
    if (merge.is_text()) {
      const auto [a, b] = two_words(merge.text(), merge);
      add_merge(bpe, a, b, merge);
      continue;
    }
    const std::vector<Node> pair = merge.items();
    if (pair.size() != 2) merge.damaged("it must be two tokens");
    add_merge(bpe, pair[0].text(), pair[1].text(), merge);
  }
  bpe.ignores_merges = model.flag("ignore_merges", false);
  bpe.has_bytes = model.flag("byte_fallback", false);
  bpe.fuses_unknown = model.flag("fuse_unk", false);
  if (!model.has("unk_token")) return;
  const auto found = bpe.ids.find(model["unk_token"].text());
  if (found == bpe.ids.end()) model.damaged("unk_token is no token");
  bpe.unknown = found->second;
}

void read_added(const Node& root, Tokenizer::State& state) {
  if (!root.has("added_tokens")) return;
  for (const Node& each : root["added_tokens"].items()) {
    each.require("single_word", false);
    const std::string text = each["content"].filled_text();
    add_token(state.bpe, text, each["id"].id(), each);
    state.added.push_back(
        {text, each["id"].id(), each.flag("special", false), each.flag("lstrip", false), each.flag("rstrip", false)});
  }
}

void read_normalizer(const Node& node, std::vector<Step>& steps) {
  const std::string type = node["type"].text();
  if (type == "Sequence") {
    for (const Node& each : node["normalizers"].items()) read_normalizer(each, steps);
  } else if (type == "Prepend") {
    steps.push_back(prepend(node["prepend"].text(), false));
  } else if (type == "Replace" && node["pattern"].has("String")) {
    steps.push_back(replace(node["pattern"]["String"].filled_text(), node["content"].text()));
  } else {
    node.unknown("the type \"" + type + "\"");
  }
}

MarkWhere where_of(const Node& node) {
  const std::string scheme = node.text_or("prepend_scheme", node.flag("add_prefix_space", true) ? "always" : "never");
  if (scheme == "always") return MarkWhere::always;
  if (scheme == "first") return MarkWhere::first;
  if (scheme != "never") node.unknown("the prepend_scheme \"" + scheme + "\"");
  return MarkWhere::never;
}

void read_pre_tokenizer(const Node& node, std::vector<Step>& steps) {
  const std::string type = node["type"].text();
  if (type == "Sequence") {
    for (const Node& each : node["pretokenizers"].items()) read_pre_tokenizer(each, steps);
  } else if (type == "ByteLevel") {
    if (node.flag("add_prefix_space", true)) steps.push_back(prepend(" ", true));
    if (node.flag("use_regex", true)) steps.push_back(split(kGpt2Pattern));
    steps.push_back(byte_level());
  } else if (type == "Split") {
    node.require("behavior", "Isolated");
    node.require("invert", false);
    if (!node["pattern"].has("Regex")) node.unknown("a pattern that is no Regex");
    steps.push_back(split(node["pattern"]["Regex"].text()));
  } else if (type == "Digits") {
    steps.push_back(split(node.flag("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)"));
  } else if (type == "Metaspace") {
    steps.push_back(mark_spaces(node["replacement"].filled_text(), where_of(node), node.flag("split", true)));
  } else {
    node.unknown("the type \"" + type + "\"");
  }
}

void read_template(const Node& node, Tokenizer::State& state) {
  const std::string type = node["type"].text();
  const auto token_of = [](const Node& pair) {
    const std::vector<Node> entries = pair.items();
    if (entries.size() != 2) pair.damaged("it must be a token and its id");
    return entries[1].id();
  };
  if (type == "Sequence") {
    for (const Node& each : node["processors"].items()) read_template(each, state);
  } else if (type == "TemplateProcessing") {
    bool is_behind = false;
    for (const Node& each : node["single"].items()) {
      if (each.has("Sequence")) {
        is_behind = true;
        continue;
      }
      const std::string token = each["SpecialToken"]["id"].text();
      for (const Node& id : node["special_tokens"][token.c_str()]["ids"].items()) {
        (is_behind ? state.behind : state.before).push_back(id.id());
      }
    }
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    state.before.push_back(token_of(node["cls"]));
    state.behind.push_back(token_of(node["sep"]));
  } else if (type != "ByteLevel") {
    node.unknown("the type \"" + type + "\"");
  }
}

void read_decoder(const Node& node, Tokenizer::State& state) {
  const std::string type = node["type"].text();
  if (type == "Sequence") {
    for (const Node& each : node["decoders"].items()) read_decoder(each, state);
  } else if (type == "ByteLevel") {
    state.has_byte_level = true;
  } else if (type == "ByteFallback") {
    state.has_byte_tokens = true;
  } else if (type == "Replace" && node["pattern"].has("String")) {
    node.require("content", " ");
    state.space = node["pattern"]["String"].filled_text();
  } else if (type == "Strip") {
    node.require("content", " ");
    node.require("start", 1);
    node.require("stop", 0);
    state.strips_first = true;
  } else if (type == "Metaspace") {
    state.space = node["replacement"].filled_text();
    state.strips_first = where_of(node) != MarkWhere::never;
  } else if (type != "Fuse") {
    node.unknown("the type \"" + type + "\"");
  }
}

Tokenizer load_json(const fs::path& path) {
  const Json json = Json::parse(read_text(path), nullptr, false);
  const Node root(json, path.string(), "");
  if (!json.is_object()) root.damaged("it must be a JSON object");
  const auto state = std::make_shared<Tokenizer::State>();
  read_model(root["model"], state->bpe);
  read_added(root, *state);
  if (root.has("normalizer")) read_normalizer(root["normalizer"], state->steps);
  if (root.has("pre_tokenizer")) read_pre_tokenizer(root["pre_tokenizer"], state->steps);
  if (root.has("post_processor")) read_template(root["post_processor"], *state);
  if (root.has("decoder")) read_decoder(root["decoder"], *state);
  const auto size = static_cast<int32_t>(state->bpe.tokens.size());
  for (const int32_t id : state->before) {
    if (id >= size) root["post_processor"].damaged("id " + std::to_string(id) + " is no token's");
  }
  for (const int32_t id : state->behind) {
    if (id >= size) root["post_processor"].damaged("id " + std::to_string(id) + " is no token's");
  }
  return Tokenizer(state);
}

// GPT-2's own files.
Tokenizer load_gpt2(const fs::path& folder) {
  const fs::path vocabulary = folder / "vocab.json", merges = folder / "merges.txt";
  const Json json = Json::parse(read_text(vocabulary), nullptr, false);
  const auto state = std::make_shared<Tokenizer::State>();
  read_vocabulary(Node(json, vocabulary.string(), ""), state->bpe);
  const std::string text = read_text(merges);
  const Json no_entry;
  size_t line_number = 1;
  for (size_t at = 0; at < text.size(); ++line_number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    const Node place(no_entry, merges.string(), "line " + std::to_string(line_number));
    const auto [a, b] = two_words(line, place);
    add_merge(state->bpe, a, b, place);
  }
  if (const auto end = state->bpe.ids.find("<|endoftext|>"); end != state->bpe.ids.end()) {
    state->added.push_back({"<|endoftext|>", end->second, true, false, false});
  }
  state->steps = {split(kGpt2Pattern), byte_level()};
  state->has_byte_level = true;
  return Tokenizer(state);
}

}  // namespace

Tokenizer load(const std::string& folder) {
  const fs::path json = fs::path(folder) / "tokenizer.json";
  if (!fs::exists(json) && fs::exists(fs::path(folder) / "vocab.json")) return load_gpt2(folder);
  return load_json(json);
}

}  // namespace kusari::tokenizers
