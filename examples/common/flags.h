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

#include <any>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

class Flags {
 public:
  /// What holds for a flag beside its type.
  using Rule = std::function<void(CLI::App& parser, CLI::Option& option)>;

  static Rule checked(CLI::Validator validator) {
    return [v = std::move(validator)](CLI::App&, CLI::Option& option) { option.check(v); };
  }
  template <class T>
  static Rule between(T low, T high) {
    return checked(CLI::Range(low, high));
  }
  static Rule positive() { return checked(CLI::PositiveNumber); }
  static Rule not_negative() { return checked(CLI::NonNegativeNumber); }
  template <class T>
  static Rule one_of(std::initializer_list<T> values) {
    return checked(CLI::IsMember(values));
  }
  static Rule required() {
    return [](CLI::App&, CLI::Option& option) { option.required(); };
  }
  /// Not without the other flag, which may stand below.
  static Rule needs(const char* other) {
    return [other](CLI::App& parser, CLI::Option& option) { option.needs(parser.get_option(other)); };
  }
  static Rule excludes(const char* other) {
    return [other](CLI::App& parser, CLI::Option& option) { option.excludes(parser.get_option(other)); };
  }
  /// Not in the help.
  static Rule hidden() {
    return [](CLI::App&, CLI::Option& option) { option.group(""); };
  }

  /// A value of any type that CLI11 reads: `names` is "-u,--unit", or "FILE" for one that is known by its place.
  template <class T, class... Rules>
  T value(const std::string& names, T otherwise, const std::string& help, const Rules&... rules) {
    return declare(std::move(otherwise), {Rule(rules)...}, [&](T& held) {
      CLI::Option* const option = current().parser.add_option(names, held, help);
      if constexpr (requires { held.empty(); }) {
        return held.empty() ? option : option->capture_default_str();
      } else {
        return option->capture_default_str();
      }
    });
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
    return declare(names.starts_with('!'), {Rule(rules)...},
                   [&](bool& held) { return current().parser.add_flag(names, held, help); });
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
  int64_t seed_flag() {
    const auto seed = value<std::string>(
        "--seed", "", "Seed of the random numbers; runs with the same one are the same", not_negative());
    if (!is_read() || seed.empty()) return -1;
    kusari::random::seed(std::stoull(seed));
    return std::stoll(seed);
  }

  /// Whether the command line has this flag.
  static bool is_given(const std::string& name) { return current().parser.count(name) > 0; }
  /// Whether the command line has been read.
  static bool is_read() { return current().is_read; }

 private:
  template <class Arguments, class Program>
  friend int run_program(int argc, char** argv, const std::string& description, Program program);

  struct Reading {
    CLI::App parser;
    bool is_read = false;
    std::deque<std::any> values = {};  // which stay where they are
    size_t next = 0;
    std::vector<std::function<void()>> rules = {};
  };
  static Reading*& place() {
    static Reading* reading = nullptr;
    return reading;
  }
  static Reading& current() { return *place(); }

  template <class T, class Add>
  T declare(T otherwise, std::vector<Rule> rules, Add add) {
    Reading& reading = current();
    if (reading.is_read) return std::any_cast<T>(reading.values[reading.next++]);
    CLI::Option* const option = add(reading.values.emplace_back(otherwise).template emplace<T>(otherwise));
    for (Rule& rule : rules) {
      reading.rules.push_back([&reading, option, r = std::move(rule)] { r(reading.parser, *option); });
    }
    return otherwise;
  }
};

/// main(): reads the flags and calls the program, which throws when something is wrong.
template <class Arguments, class Program>
int run_program(int argc, char** argv, const std::string& description, Program program) {
  Flags::Reading reading{CLI::App(description)};
  Flags::place() = &reading;
  try {
    { const Arguments declared; }
    for (const auto& rule : reading.rules) rule();
    reading.parser.parse(argc, argv);
    reading.is_read = true;
    const Arguments args;
    if constexpr (std::is_same_v<decltype(program(args)), int>) {
      return program(args);
    } else {
      program(args);
      return 0;
    }
  } catch (const CLI::ParseError& error) {
    return reading.parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", std::filesystem::path(argv[0]).stem().c_str(), error.what());
    return 1;
  }
}
