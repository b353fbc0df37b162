#pragma once

// Flags of a program, each of them a line, and main():
//
//   struct Arguments : Flags {
//     int64_t unit = count("-u,--unit", 1000, "Number of units");
//     std::string out = text("-o,--out", "result", "Directory to output the result");
//     bool noplot = flag("--noplot", "Do not plot loss and accuracy");
//   };
//   void train(const Arguments& args) { ... }
//   int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "MNIST", train); }
//
// A program's Arguments are made twice: the first time to hear which flags there are, with their defaults, and again
// when the command line has been read, with what it says.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

namespace CLI {
class App;
class Option;
}  // namespace CLI

class Flags {
 public:
  /// What holds for a flag beside its type.
  using Rule = std::function<void(CLI::App& parser, CLI::Option& option)>;

  static Rule between(int low, int high);
  static Rule between(double low, double high);
  static Rule positive();
  static Rule not_negative();
  static Rule one_of(const std::vector<std::string>& words);
  static Rule one_of(std::initializer_list<std::string> words);
  static Rule one_of(std::initializer_list<int64_t> numbers);
  /// One of the keys of a map.
  template <class Map>
  static Rule key_of(const Map& map) {
    std::vector<std::string> words;
    for (const auto& entry : map) words.push_back(entry.first);
    return one_of(words);
  }
  /// One of the words, or a positive number.
  static Rule positive_or(std::initializer_list<std::string> words);
  static Rule required();
  /// Not without the other flag, which may stand below.
  static Rule needs(const char* other);
  static Rule excludes(const char* other);
  /// Not in the help.
  static Rule hidden();

  /// A value of a type that flags.cc lists: `names` is "-u,--unit", or "FILE" for one that is known by its place.
  template <class T, class... Rules>
  T value(const std::string& names, T otherwise, const std::string& help, const Rules&... rules) {
    return declare(names, std::move(otherwise), help, {Rule(rules)...});
  }
  template <class... Rules>
  int64_t number(const std::string& names, int64_t otherwise, const std::string& help, const Rules&... rules) {
    return value<int64_t>(names, otherwise, help, rules...);
  }
  /// A positive number.
  template <class... Rules>
  int64_t count(const std::string& names, int64_t otherwise, const std::string& help, const Rules&... rules) {
    return number(names, otherwise, help, positive(), rules...);
  }
  template <class... Rules>
  double real(const std::string& names, double otherwise, const std::string& help, const Rules&... rules) {
    return value<double>(names, otherwise, help, rules...);
  }
  template <class... Rules>
  std::string text(const std::string& names, const std::string& otherwise, const std::string& help,
                   const Rules&... rules) {
    return value<std::string>(names, otherwise, help, rules...);
  }
  /// One of a few words.
  std::string choice(const std::string& names, std::initializer_list<std::string> words, const std::string& otherwise,
                     const std::string& help) {
    return text(names, otherwise, help, one_of(words));
  }
  /// Whether it is given; "!--no-plot" is true unless it is.
  template <class... Rules>
  bool flag(const std::string& names, const std::string& help, const Rules&... rules) {
    return value<bool>(names, names.starts_with('!'), help, rules...);
  }

  // What many programs have.
  std::string device_flag() { return text("-d,--device,-g,--gpu", "cpu", "cpu, or cuda:N or N for a GPU"); }
  std::string out_flag(const std::string& otherwise = "result") {
    return text("-o,--out", otherwise, "Directory to output the result");
  }
  std::string resume_flag() { return text("-r,--resume", "", "Resume the training from this snapshot"); }
  std::string digits_flag() {
    return choice("--data", {"auto", "mnist", "stroke-digits"}, "auto",
                  "mnist, stroke-digits, or auto: MNIST where there is a way to it");
  }
  /// Seeds the random numbers, if it is given.
  int64_t seed_flag();

  /// Whether the command line has this flag.
  static bool is_given(const std::string& name);
  /// Whether the command line has been read.
  static bool is_read();

 private:
  template <class Arguments, class Program>
  friend int run_program(int argc, char** argv, const std::string& description, Program program);

  template <class T>
  static T declare(const std::string& names, T otherwise, const std::string& help, std::vector<Rule> rules);
  /// Reads the command line into what `declare` hears of, and runs the program.
  static int run(int argc, char** argv, const std::string& description, const std::function<void()>& declare,
                 const std::function<int()>& program);
};

/// main(): reads the flags and calls the program, which throws when something is wrong.
template <class Arguments, class Program>
int run_program(int argc, char** argv, const std::string& description, Program program) {
  return Flags::run(
      argc, argv, description, [] { const Arguments declared; },
      [&] {
        const Arguments args;
        if constexpr (std::is_same_v<decltype(program(args)), int>) {
          return program(args);
        } else {
          program(args);
          return 0;
        }
      });
}
