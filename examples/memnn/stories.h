#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/lines.h"

using Sentence = std::vector<std::string>;

// What is asked after the first sentences of a story.
struct Question {
  std::vector<Sentence> story;
  Sentence words;
  std::string answer;
};

// The files of bAbI: "1 Mary went to the garden.", or "2 Where is Mary?<tab>garden<tab>1", the numbers of the sentences
// that tell behind the answer. A story begins at each line 1.
inline std::vector<Question> parse_stories(const std::vector<std::string>& lines, const std::string& name) {
  const auto words_of = [](std::string text) {
    for (char& c : text)
      c = c == '.' || c == '?' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return kusari::datasets::split_words(text, "");
  };
  std::vector<Question> questions;
  std::vector<Sentence> story;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const size_t blank = lines[i].find(' ');
    const std::string number = lines[i].substr(0, blank);
    if (blank == std::string::npos || number.find_first_not_of("0123456789") != std::string::npos) {
      throw kusari::ValueError(name + ":" + std::to_string(i + 1) + ": \"" + lines[i] +
                               "\" does not begin with a number and a blank");
    }
    if (number == "1") story.clear();
    const size_t tab = lines[i].find('\t');
    const Sentence words = words_of(lines[i].substr(blank, tab == std::string::npos ? tab : tab - blank));
    if (tab == std::string::npos) {
      story.push_back(words);
    } else {
      const size_t begin = tab + 1;
      const size_t end = std::min(lines[i].find('\t', begin), lines[i].size());
      questions.push_back({story, words, lines[i].substr(begin, end - begin)});
    }
  }
  return questions;
}

// Lines as those of bAbI's task 1: people go from place to place, and each two moves it is asked where one is.
inline std::vector<std::string> generate_moves(int64_t stories) {
  const std::vector<std::string> people = {"Mary", "John", "Daniel", "Sandra"},
                                 places = {"bathroom", "bedroom", "garden", "hallway", "kitchen", "office"},
                                 ways = {" went to the ", " moved to the ", " journeyed to the ", " went back to the "};
  const auto one_of = [](const auto& list) { return kusari::random::bits() % list.size(); };
  std::vector<std::string> lines;
  for (int64_t i = 0; i < stories; ++i) {
    std::vector<std::pair<size_t, int>> where(people.size(), {places.size(), 0});  // nowhere yet; and the line
    for (int line = 1; line <= 15; ++line) {
      if (line % 3 != 0) {
        const size_t who = one_of(people), place = one_of(places);
        where[who] = {place, line};
        lines.push_back(std::to_string(line) + " " + people[who] + ways[one_of(ways)] + places[place] + ".");
        continue;
      }
      size_t who = one_of(people);
      while (where[who].first == places.size()) who = one_of(people);
      lines.push_back(std::to_string(line) + " Where is " + people[who] + "? \t" + places[where[who].first] + "\t" +
                      std::to_string(where[who].second));
    }
  }
  return lines;
}

// Lines as those of task 4, where the order of words matters: "The office is north of the kitchen."
inline std::vector<std::string> generate_places(int64_t stories) {
  const std::vector<std::string> ways = {"north", "south", "east", "west"};
  std::vector<std::string> lines;
  for (int64_t i = 0; i < stories; ++i) {
    std::vector<std::string> places = {"bathroom", "bedroom", "garden", "hallway", "kitchen", "office"};
    for (size_t k = places.size() - 1; k > 0; --k) std::swap(places[k], places[kusari::random::bits() % (k + 1)]);
    const std::string way = ways[kusari::random::bits() % ways.size()];
    const auto tell = [&](size_t k) { return " The " + places[k] + " is " + way + " of the " + places[k + 1] + "."; };
    const uint64_t first = kusari::random::bits() % 2;
    lines.push_back("1" + tell(first));
    lines.push_back("2" + tell(1 - first));
    lines.push_back(kusari::random::bits() % 2 == 0
                        ? "3 What is " + way + " of the " + places[1] + "?\t" + places[0] + "\t1"
                        : "3 What is the " + places[1] + " " + way + " of?\t" + places[2] + "\t1");
  }
  return lines;
}

struct StoryTask {
  kusari::datasets::Vocabulary words;
  kusari::datasets::TupleDataset train, test;
};

// int32 arrays: sentences (n, memory, length), the last ones of each story, which ends where the array does; questions
// (n, length); answers (n). Where there is no word is -1.
inline kusari::datasets::TupleDataset to_arrays(const std::vector<Question>& questions,
                                                const kusari::datasets::Vocabulary& words, size_t memory,
                                                size_t length) {
  std::vector<int32_t> sentences, asked, answers;
  const auto append = [&](const Sentence& sentence, std::vector<int32_t>* list) {
    for (const int32_t id : words.encode(sentence).to_vector<int32_t>()) list->push_back(id);
    list->insert(list->end(), length - sentence.size(), -1);
  };
  for (const Question& question : questions) {
    const size_t known = std::min(memory, question.story.size());
    for (size_t k = known; k < memory; ++k) append({}, &sentences);
    for (size_t k = question.story.size() - known; k < question.story.size(); ++k) {
      append(question.story[k], &sentences);
    }
    append(question.words, &asked);
    answers.push_back(words.encode(Sentence{question.answer}).item<int32_t>());
  }
  const auto n = static_cast<int64_t>(questions.size()), m = static_cast<int64_t>(memory),
             l = static_cast<int64_t>(length);
  return kusari::datasets::TupleDataset(kusari::array(sentences, {n, m, l}), kusari::array(asked, {n, l}),
                                        kusari::array(answers, {n}));
}

// Of the files, or generated ones without any, of task 1 or 4. Of a story the last `most_memory` sentences are kept.
inline StoryTask load_stories(const std::string& train_path, const std::string& test_path, int64_t task,
                              int64_t most_memory) {
  using namespace kusari;
  std::vector<Question> train, test;
  if (train_path.empty()) {
    const random::LocalStream same_stories(1);
    const auto draw = [&](int64_t n) {
      return parse_stories(task == 1 ? generate_moves(n) : generate_places(5 * n), "generated");
    };
    train = draw(200);
    test = draw(40);
  } else {
    train = parse_stories(read_lines(train_path), train_path);
    test = parse_stories(read_lines(test_path), test_path);
  }
  datasets::Vocabulary words;
  size_t memory = 1, length = 1;
  for (const auto* part : {&train, &test}) {
    for (const Question& question : *part) {
      memory = std::max(memory, question.story.size());
      const auto count = [&](const Sentence& sentence) {
        length = std::max(length, sentence.size());
        for (const std::string& word : sentence) words.add(word);
      };
      for (const Sentence& sentence : question.story) count(sentence);
      count(question.words);
      words.add(question.answer);
    }
  }
  memory = std::min(memory, static_cast<size_t>(most_memory));
  return {words, to_arrays(train, words, memory, length), to_arrays(test, words, memory, length)};
}
