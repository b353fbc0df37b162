// The programs of docs/sequences.md, compiled and run. blocks_test.cc compares the texts.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/kusari.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::sequences_page {
namespace {

class Tagger : public Chain {
 public:
  Tagger(int64_t words, int64_t tags, int64_t units)
      : embed{*this, "embed", words, units},
        lstm{*this, "lstm", 2, units, units, 0.1},  // 2 layers, dropout 0.1 between them
        out{*this, "out", 2 * units, tags} {}

  // Scores of the tags of all words of all sentences, packed.
  PackedSequence operator()(const std::vector<Variable>& sentences) const {
    const PackedSequence words = F::pack_sequence(sentences);
    return lstm({}, {}, words.map(embed)).ys.map(out);
  }

 private:
  Child<L::EmbedID> embed;
  Child<L::NStepBiLSTM> lstm;
  Child<L::Linear> out;
};

class WordModel : public Chain {
 public:
  WordModel(int64_t words, int64_t units)
      : embed{*this, "embed", words, units}, lstm{*this, "lstm", units, units}, out{*this, "out", units, words} {}

  // ids: (T, B), T words of B texts. Scores of the words that come next: (T, B, words).
  Variable operator()(const Variable& ids) { return out(lstm.sequence(embed(ids)), 2); }

 private:
  Child<L::EmbedID> embed;
  Child<L::LSTM> lstm;
  Child<L::Linear> out;
};

class Encoder : public Chain {
 public:
  Encoder(int64_t words, int64_t width) : embed{*this, "embed", words, width} {
    for (int i = 0; i < 2; ++i) layers.append(L::TransformerBlock(width, 4, {.dropout = 0.1, .rotary_base = 10000}));
  }
  // ids: (B, T); lengths: (B), what of each row counts.
  Variable operator()(const Variable& ids, const Array& lengths) const {
    Variable x = embed(ids);
    for (const auto& layer : layers) x = layer(x, {.lengths = lengths});
    return x;
  }

 private:
  Child<L::EmbedID> embed;
  Child<ChainList<L::TransformerBlock>> layers{*this, "layers"};
};

class Decoder : public Chain {
 public:
  Decoder(int64_t words, int64_t width) : embed{*this, "embed", words, width}, out{*this, "out", width, words} {
    for (int i = 0; i < 2; ++i)
      layers.append(L::TransformerDecoderBlock(width, 4, {.dropout = 0.1, .rotary_base = 10000}));
  }
  // The scores of the words that come next. ids: (B, T); memory: (B, S, width); lengths: (B), what of memory counts.
  Variable operator()(const Variable& ids, const Variable& memory, const Array& lengths, KVCache* cache = nullptr,
                      KVCache* memory_cache = nullptr) const {
    Variable x = embed(ids);
    for (size_t i = 0; i < layers.size(); ++i) {
      x = layers[i](x, memory,
                    {.memory_lengths = lengths,
                     .cache = cache == nullptr ? nullptr : &cache->layer(i),
                     .memory_cache = memory_cache == nullptr ? nullptr : &memory_cache->layer(i)});
    }
    return out(x, 2);
  }

 private:
  Child<L::EmbedID> embed;
  Child<ChainList<L::TransformerDecoderBlock>> layers{*this, "layers"};
  Child<L::Linear> out;
};

Array cyclic_text(int64_t n, int32_t words) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(i * i % 12) % words);
  return array(ids);
}

}  // namespace

TEST_CASE("sequences: tags of words") {
  random::seed(0);
  const int64_t words = 7, tags = 3;
  std::vector<Variable> sentences, tags_of_sentences;
  for (const int64_t length : {4, 1, 6}) {
    std::vector<int32_t> ids, labels;
    for (int64_t t = 0; t < length; ++t) {
      ids.push_back(static_cast<int32_t>((3 * t + length) % words));
      labels.push_back(
          static_cast<int32_t>((t > 0 ? ids[static_cast<size_t>(t) - 1] : 0) % tags));  // of the word before
    }
    sentences.emplace_back(array(ids), false);
    tags_of_sentences.emplace_back(array(labels), false);
  }
  Tagger model(words, tags, 16);
  optimizers::Adam optimizer({.alpha = 0.02});
  optimizer.setup(model);
  for (int step = 0; step < 60; ++step) {
    optimizer.update(
        [&] { return F::softmax_cross_entropy(model(sentences).data(), F::pack_sequence(tags_of_sentences).data()); });
  }
  const auto test_mode = using_config(&Config::train, false);
  CHECK(F::accuracy(model(sentences).data(), F::pack_sequence(tags_of_sentences).data()).item<float>() == 1);
}

TEST_CASE("sequences: truncated backpropagation through time") {
  random::seed(0);
  const testing::ScratchDirectory scratch;
  const std::string directory = scratch.path();
  const int64_t words = 12, epochs = 10;
  const Array text = cyclic_text(600, 12), other_text = cyclic_text(100, 12);
  double last = 0;
  {
    auto model =
        L::classifier(WordModel(words, 24),
                      {.lossfun = [](const Variable& y, const Variable& t) { return F::token_cross_entropy(y, t); },
                       .compute_accuracy = false});
    optimizers::Adam optimizer({.alpha = 0.01});
    optimizer.setup(model);
    optimizer.add_hook(optimizer_hooks::GradientClipping(5));
    iterators::ParallelSequentialIterator train_iter(text, 8, {.window = 10});  // 10 words of 8 places
    iterators::ParallelSequentialIterator val_iter(other_text, 1, {.repeat = false, .window = 10});
    updaters::BPTTUpdater updater(train_iter, optimizer, {.static_graph = true});
    training::Trainer trainer(updater, {epochs, "epoch"}, directory);

    auto eval_model = copy(model, CopyMode::share);  // the same parameters, a state of its own
    trainer.extend(
        extensions::Evaluator(val_iter, eval_model, {.eval_hook = [&](auto&) { reset_states(eval_model); }}));
    trainer.extend(extensions::LogReport({.postprocess = [](extensions::LogEntry& row) {
      row.set("perplexity", std::exp(row.at("validation/main/loss")));
    }}));
    trainer.run();
    const auto test_mode = using_config(&Config::train, false);
    reset_states(model);
    last = model(Variable(text.slice(0, 0, 50).reshape({50, 1}), false),
                 Variable(text.slice(0, 1, 50).reshape({50, 1}), false))
               .item<double>();
  }
  CHECK(last < 0.5);
}

TEST_CASE("sequences: attention") {
  const Encoder encoder(5, 8);
  const auto test_mode = using_config(&Config::train, false);
  const Variable ids(array(std::vector<int32_t>{1, 2, 3, 4, 1, 2, 0, 0}, {2, 4}), false);
  const Variable y = encoder(ids, array(std::vector<int64_t>{4, 2}));
  CHECK(y.shape() == Shape{2, 4, 8});
}

TEST_CASE("sequences: an encoder and a decoder") {
  random::seed(0);
  const Encoder encoder(5, 8);
  const Decoder decoder(6, 8);
  const Variable source(array<int32_t>({1, 2, 3, 4}, {1, 4}), false);
  const Array lengths = array<int64_t>({3});
  const auto test_mode = using_config(&Config::train, false);
  const auto mode = no_backprop_mode();
  const Variable memory = encoder(source, lengths);
  KVCache cache(2, 20), memory_cache(2, memory.shape()[1]);
  auto next = [&](const Variable& ids) { return decoder(ids, memory, lengths, &cache, &memory_cache); };
  const Array tokens = generate(next, array<int32_t>({1}), {.max_new = 20, .temperature = 0, .end = 0});
  CHECK(tokens.size() > 0);
  CHECK(memory_cache.length() == 4);
  // The first word is the likeliest of those that come next without caches.
  const Variable scores = decoder(Variable(array<int32_t>({1}, {1, 1}), false), memory, lengths);
  CHECK(F::argmax(scores, 2).item<int32_t>() == tokens.to_vector<int32_t>()[0]);
}

TEST_CASE("sequences: a language model of transformer blocks") {
  random::seed(0);
  const testing::ScratchDirectory scratch;
  const std::string directory = scratch.path();
  const int64_t words = 12, steps = 200;
  const Array text = cyclic_text(600, 12), prompt = cyclic_text(6, 12);
  auto model =
      L::classifier(L::TransformerLM(words, {.block = 16, .layers = 2, .heads = 2, .width = 32}),
                    {.lossfun = [](const Variable& y, const Variable& t) { return F::token_cross_entropy(y, t); },
                     .compute_accuracy = false});
  optimizers::DecoupledAdamW optimizer({.lr = 5e-3, .weight_decay_rate = 0.1});
  optimizer.setup(model);
  for (Parameter* p : model.params()) {  // biases and factors do not decay
    if (p->ndim() < 2) p->update_rule().hyperparam()["weight_decay_rate"] = 0;
  }
  iterators::SerialIterator iterator(datasets::BlockDataset(text, 16), 16);
  updaters::StandardUpdater updater(iterator, optimizer, {.static_graph = true});
  training::Trainer trainer(updater, {steps, "iteration"}, directory);
  trainer.extend(extensions::CosineShift("lr", steps, {.final_value = 5e-4, .warmup = 10}),
                 {.trigger = {1, "iteration"}});
  trainer.run();
  const L::TransformerLM& lm = model.predictor;
  KVCache cache = lm.cache();
  const Array more = generate([&](const Variable& ids) { return lm.next(ids, &cache); }, prompt,
                              {.max_new = 8, .temperature = 0.8, .top_k = 40, .seed = 1});
  CHECK(more.to_vector<int32_t>() == cyclic_text(14, 12).slice(0, 6, 8).to_vector<int32_t>());
}

#ifdef KUSARI_WITH_PCRE2
TEST_CASE("sequences: trained models") {
  namespace fs = std::filesystem;
  const fs::path golden = fs::path(KUSARI_SOURCE_DIR) / "tests/golden";
  const testing::ScratchDirectory scratch;
  const std::string folder = scratch.path();
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy(golden / "language_models/gpt2" / file, scratch / file);
  std::ofstream(scratch / "vocab.json")
      << R"({"t": 0, "h": 1, "e": 2, "th": 3, "the": 4, "a": 5, "b": 6, "c": 7, "d": 8, "f": 9, "g": 10, "i": 11, "j": 12})";
  std::ofstream(scratch / "merges.txt") << "t h\nth e\n";
  const L::TransformerLM gpt2 = models::load_gpt2(folder);  // {.dtype = Dtype::bfloat16} for half the memory
  const tokenizers::Tokenizer tokenizer = tokenizers::load(folder);
  KVCache past = gpt2.cache();
  std::string answer;
  generate([&](const Variable& ids) { return gpt2.next(ids, &past); }, tokenizer.encode("the"),
           {.max_new = 5, .temperature = 0, .on_token = [&](int64_t id) {
              answer += tokenizer.bytes_of(id);
              return true;
            }});
  CHECK(past.length() == 5);
  CHECK(answer.size() >= 5);
}
#endif

}  // namespace kusari::sequences_page
