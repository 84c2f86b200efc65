// Writes JSON.
#pragma once

#include <string>
#include <vector>

namespace bench {

/// Writes values in order. Adds commas, indentation and quotes:
///
///   json.begin_object();
///   json.field("size", 512);
///   json.begin_array("times");
///   json.value(0.25);
///   json.end();
///   json.end();
///
/// Each member is on a separate line. An element of an array is on one line.
class Json {
public:
  void begin_object(const std::string &key = "") { begin('{', key); }
  void begin_array(const std::string &key = "") { begin('[', key); }
  void end();

  void value(double number);
  void value(const std::string &text);
  void field(const std::string &key, double number);
  void field(const std::string &key, const std::string &text);
  void field(const std::string &key, const char *text) { field(key, std::string(text)); }

  const std::string &text() const { return text_; }

private:
  struct Level {
    char closing;
    bool on_one_line;
    bool empty;
  };
  void begin(char opening, const std::string &key);
  void separate();
  void write_key(const std::string &key);
  void write_number(double number);
  void write_string(const std::string &text);

  std::string text_;
  std::vector<Level> levels_;
};

} // namespace bench
