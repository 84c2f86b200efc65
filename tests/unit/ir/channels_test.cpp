// Tests ir/channels.cpp.

#include "support/contains.h"

#include "ir/parser.h"
#include "ir/verifier.h"

#include <doctest/doctest.h>

#include <string>

using namespace tritonc;

namespace {

// The errors of a kernel with the channels %c and %d, of two stages each, and the order %o.
std::string errors(const std::string &consumer, const std::string &producer,
                   const std::string &channels = "%c = channel %s : channel[2]\n",
                   const std::string &groups = "1") {
  ir::ParseResult parsed =
      ir::parse("func @f(%n: i32, %x: f32[8]) warps 4 {\n %s = shared_alloc : shared<f32>[2,8]\n"
                "%z = shared_alloc : shared<f32>[1,8]\n" +
                channels + "warp_specialize {groups = [" + groups +
                ",1], one_thread = [0,1], warps = [4,4]} {\n" + consumer + "yield\n} {\n" +
                producer + "yield\n}\n return\n}");
  REQUIRE_MESSAGE(parsed.function, parsed.error);
  return ir::verify(*parsed.function);
}

int next = 0;

// `text` with a number of its own for each @.
std::string numbered(std::string text) {
  const std::string number = std::to_string(next++);
  for (size_t at = 0; (at = text.find('@', at)) != std::string::npos;)
    text.replace(at, 1, number);
  return text;
}

// A loop whose body has `%t@` as its number. All names in the body become unique.
std::string loop(const std::string &body) {
  return numbered("for_loop %n {\n (%t@: i32)\n" + body + "yield\n}\n");
}

std::string put(const std::string &channel = "c", const std::string &offset = "") {
  return "%p" + channel + "@ = put %" + channel + ", %t@ " + offset + " : i32\n put_done %" +
         channel + ", %t@ " + offset + "\n";
}
std::string get(const std::string &channel = "c") {
  return "%g" + channel + "@ = get %" + channel + ", %t@ : i32\n";
}
std::string done(const std::string &channel = "c", const std::string &offset = "") {
  return "get_done %" + channel + ", %t@ " + offset + "\n";
}

const std::string two = "%c = channel %s : channel[2]\n %d = channel %z : channel[1]\n";
const char *const cycle = "partitions wait for each other in a cycle";

} // namespace

TEST_CASE("channels: are put by one partition and got by one") {
  CHECK(errors(loop(get() + done()), loop(put())) == "");
  CHECK(contains(errors("", loop(put())), "a channel is put and got"));
  CHECK(contains(errors(loop(get() + done()), ""), "a channel is put and got"));
  CHECK(contains(errors(loop(get() + done()), loop(put()) + loop(put())),
                 "an iteration puts and gets the same numbers"));
  CHECK(contains(errors(loop(get() + done()) + loop(put()), loop(put()) + loop(get())),
                 "a channel has one producer and one consumer partition"));
  CHECK(contains(errors(loop(loop(get() + done())), loop(put())),
                 "puts and gets are in equally many loops"));
}

TEST_CASE("channels: a put_done follows each put of a buffer") {
  const char *const rule = "its put_done follows, in the same block";
  auto body = [](const std::string &text) { return errors(loop(get() + done()), loop(text)); };
  CHECK(contains(body("put_done %c, %t@\n %p@ = put %c, %t@ : i32\n"), rule));
  CHECK(contains(body("%p@ = put %c, %t@ : i32\n put_done %c, %t@ {offset = 1}\n"), rule));
  CHECK(contains(body("put_done %c, %t@\n"), "each put of a buffer has a put_done"));
  const std::string order = "%c = channel : channel[2]\n";
  CHECK(errors(loop(get()), loop("put_done %c, %t@\n"), order) == "");
  CHECK(contains(errors(loop(get()), loop(put()), order), "nothing else is put"));
  CHECK(contains(errors(loop(get() + done()), loop("put_done %c, %t@\n"), order),
                 "a channel without buffers has no get_done"));
}

TEST_CASE("channels: fewer tokens than numbers in use") {
  // The stage of the iteration before is released: one of two stages is in use.
  CHECK(errors(loop(get() + done("c", "{offset = -1}")), loop(put())) == "");
  CHECK(contains(errors(loop(get() + done("c", "{offset = -2}")), loop(put())), cycle));
  const std::string one = "%c = channel %z : channel[1]\n";
  CHECK(errors(loop(get() + done()), loop(put()), one) == "");
  CHECK(contains(errors(loop(get() + done("c", "{offset = -1}")), loop(put()), one), cycle));
}

TEST_CASE("channels: partitions wait for each other") {
  // Each waits first for what the other does last.
  CHECK(errors(loop(get("c") + done("c") + put("d")), loop(put("c") + get("d") + done("d")), two) ==
        "");
  CHECK(contains(
      errors(loop(get("c") + done("c") + put("d")), loop(get("d") + done("d") + put("c")), two),
      cycle));
  // A number in advance starts them.
  const std::string orders = "%c = channel : channel[2]\n %d = channel : channel[2]\n";
  const std::string first = loop(get("c") + "put_done %d, %t@\n");
  CHECK(contains(errors(first, loop(get("d") + "put_done %c, %t@\n"), orders), cycle));
  CHECK(errors(first, loop("%g@ = get %d, %t@ {offset = -1} : i32\n put_done %c, %t@\n"), orders) ==
        "");
}

TEST_CASE("channels: loops of both sides run at the same time") {
  const std::string gets_c = loop(get("c") + done("c")), puts_c = loop(put("c"));
  CHECK(errors(gets_c + loop(get("d") + done("d")), loop(put("c")) + loop(put("d")), two) == "");
  // The producer ends one loop only when the consumer is in it.
  CHECK(contains(errors(loop(get("d") + done("d")) + gets_c, puts_c + loop(put("d")), two), cycle));
}

TEST_CASE("channels: consumer groups take turns") {
  const std::string order = "%c = channel : channel[2]\n";
  auto turns = [&](const std::string &offset) {
    return errors(loop("%g@ = get %c, %t@ " + offset + ": i32\n put_done %c, %t@\n"), "", order,
                  "2");
  };
  CHECK(turns("{offset = -1} ") == "");
  CHECK(contains(turns(""), cycle));
}

namespace {

// A partition that uses numbers of the channels %c and %d before a loop, in it, and after it. The
// numbers are %zero@ before the loop, %c.at@ and %d.at@ in it, %c.end@ and %d.end@ after it. The first
// ones in the loop are `c` and `d`.
std::string sections(const std::string &before, const std::string &inside, const std::string &after,
                     const std::string &c = "%one@", const std::string &d = "%zero@") {
  return numbered("%zero@ = constant {value = 0} : i32\n %one@ = constant {value = 1} : i32\n" +
                  before + "%c.end@, %d.end@ = for_loop %n, " + c + ", " + d +
                  " : i32, i32 {\n (%t@: i32, %c.at@: i32, %d.at@: i32)\n" + inside +
                  "%c.next@ = add %c.at@, %one@ : i32\n %d.next@ = add %d.at@, %one@ : i32\n"
                  "yield %c.next@, %d.next@\n}\n" +
                  after);
}

// As `put` and `get`, with the number `at`.
std::string put_at(const std::string &channel, const std::string &at,
                   const std::string &offset = "") {
  return "%p" + std::to_string(next++) + " = put %" + channel + ", " + at + " " + offset +
         " : i32\n put_done %" + channel + ", " + at + " " + offset + "\n";
}
std::string get_at(const std::string &channel, const std::string &at,
                   const std::string &offset = "") {
  return "%g" + std::to_string(next++) + " = get %" + channel + ", " + at + " " + offset +
         " : i32\n";
}
std::string done_at(const std::string &channel, const std::string &at,
                    const std::string &offset = "") {
  return "get_done %" + channel + ", " + at + " " + offset + "\n";
}
std::string take_at(const std::string &channel, const std::string &at,
                    const std::string &offset = "") {
  return get_at(channel, at, offset) + done_at(channel, at, offset);
}

const std::string one_each = "%y = shared_alloc : shared<f32>[1,8]\n"
                             "%c = channel %z : channel[1]\n %d = channel %y : channel[1]\n";
const std::string one_stage = "%c = channel %z : channel[1]\n";

} // namespace

TEST_CASE("channels: numbers before, in and after a loop") {
  auto gets = [] {
    return sections(take_at("c", "%zero@"), take_at("c", "%c.at@"), take_at("c", "%c.end@"));
  };
  auto puts = [] {
    return sections(put_at("c", "%zero@"), put_at("c", "%c.at@"), put_at("c", "%c.end@"));
  };
  CHECK(errors(gets(), puts()) == "");
  CHECK(errors(gets(), puts(), one_stage) == "");
  // Two of three.
  CHECK(errors(sections(take_at("c", "%zero@"), take_at("c", "%c.at@"), ""),
               sections(put_at("c", "%zero@"), put_at("c", "%c.at@"), "")) == "");
  CHECK(errors(sections("", take_at("c", "%c.at@"), take_at("c", "%c.end@"), "%zero@"),
               sections("", put_at("c", "%c.at@"), put_at("c", "%c.end@"), "%zero@")) == "");
  // A stage may also be released after the loop, if no later number needs it.
  CHECK(errors(sections(get_at("c", "%zero@"), "", done_at("c", "%zero@")),
               sections(put_at("c", "%zero@"), "", "")) == "");
}

TEST_CASE("channels: numbers before, in and after a loop of each program") {
  // `before` and `after` stand around what a program does with %c.
  auto side = [](auto use, const std::string &before, const std::string &after) {
    return numbered("%zero@ = constant {value = 0} : i32\n %one@ = constant {value = 1} : i32\n"
                    "%end@ = for_loop %n, %zero@ : i32 {\n (%p@: i32, %at@: i32)\n" +
                    before + use("c", "%at@", "") +
                    "%in@ = add %at@, %one@ : i32\n"
                    "%last@ = for_loop %n, %in@ : i32 {\n (%t@: i32, %k@: i32)\n" +
                    use("c", "%k@", "") + "%k.next@ = add %k@, %one@ : i32\n yield %k.next@\n}\n" +
                    use("c", "%last@", "") + after +
                    "%next@ = add %last@, %one@ : i32\n yield %next@\n}\n");
  };
  // A tile of %d per program: it has one stage.
  CHECK(errors(side(take_at, get_at("d", "%p@"), done_at("d", "%p@")),
               side(put_at, put_at("d", "%p@"), ""), two) == "");
  CHECK(contains(errors(side(take_at, get_at("d", "%p@"), done_at("d", "%p@")),
                        side(put_at, "", put_at("d", "%p@")), two),
                 cycle));
  // The next program releases it, but waits for its own tile first.
  const std::string later = done_at("d", "%p@", "{offset = -1}");
  CHECK(contains(
      errors(side(take_at, get_at("d", "%p@"), later), side(put_at, put_at("d", "%p@"), ""), two),
      cycle));
}

TEST_CASE("channels: both sides have the same sections") {
  const std::string gets = sections(take_at("c", "%zero@"), take_at("c", "%c.at@"), "");
  CHECK(contains(errors(gets, sections("", put_at("c", "%c.at@"), "", "%zero@")),
                 "an iteration puts and gets the same numbers"));
  const char *const rule = "puts and gets are in equally many loops";
  CHECK(contains(
      errors(gets, sections("", put_at("c", "%c.at@") + put_at("c", "%c.at@", "{offset = 1}"), "",
                            "%zero@")),
      rule));
  CHECK(contains(
      errors(gets, sections("", put_at("c", "%c.at@"), put_at("c", "%c.end@"), "%zero@")), rule));
  CHECK(contains(
      errors(gets, sections(put_at("c", "%zero@") + put_at("c", "%zero@", "{offset = 1}"), "", "")),
      rule));
}

TEST_CASE("channels: partitions wait for each other across a loop") {
  // The consumer waits for %d first. The producer puts it after its loop, which waits for empty
  // stages of %c.
  CHECK(contains(errors(sections(take_at("d", "%zero@"), take_at("c", "%c.at@"), "", "%zero@"),
                        sections("", put_at("c", "%c.at@"), put_at("d", "%zero@"), "%zero@"), two),
                 cycle));
  CHECK(errors(sections(take_at("d", "%zero@"), take_at("c", "%c.at@"), "", "%zero@"),
               sections(put_at("d", "%zero@"), put_at("c", "%c.at@"), "", "%zero@"), two) == "");
  CHECK(errors(sections("", take_at("c", "%c.at@"), take_at("d", "%zero@"), "%zero@"),
               sections("", put_at("c", "%c.at@"), put_at("d", "%zero@"), "%zero@"), two) == "");
  // Two numbers before the loop, and the stages for one or both of them.
  auto before = [](const std::string &channels) {
    const std::string both = take_at("c", "%zero@") + take_at("c", "%zero@", "{offset = 1}");
    return errors(sections(take_at("d", "%zero@") + both, take_at("c", "%c.at@"), "", "%one@"),
                  sections(put_at("c", "%zero@") + put_at("c", "%zero@", "{offset = 1}") +
                               put_at("d", "%zero@"),
                           put_at("c", "%c.at@"), ""),
                  channels);
  };
  CHECK(before(two) == "");
  CHECK(contains(before(one_each), cycle));
}

TEST_CASE("channels: a later section needs the stage of an earlier one") {
  auto errors_if_released = [](const std::string &before, const std::string &after) {
    return errors(sections(get_at("c", "%zero@") + before, take_at("c", "%c.at@"), after),
                  sections(put_at("c", "%zero@"), put_at("c", "%c.at@"), ""));
  };
  CHECK(errors_if_released(done_at("c", "%zero@"), "") == "");
  // The loop may have more iterations than there are other stages.
  CHECK(contains(errors_if_released("", done_at("c", "%zero@")), cycle));
  // Two numbers at once, before a loop that reads both.
  auto errors_with = [](const std::string &channel) {
    return errors(sections(get_at("c", "%zero@") + get_at("c", "%zero@", "{offset = 1}"), "",
                           done_at("c", "%zero@") + done_at("c", "%zero@", "{offset = 1}")),
                  sections(put_at("c", "%zero@") + put_at("c", "%zero@", "{offset = 1}"), "", ""),
                  channel);
  };
  CHECK(errors_with("%c = channel %s : channel[2]\n") == "");
  CHECK(contains(errors_with(one_stage), cycle));
}

TEST_CASE("channels: keys of the next iteration before values of this one") {
  for (const std::string &channels : {two, one_each}) {
    CAPTURE(channels);
    CHECK(errors(sections(take_at("c", "%zero@"), take_at("c", "%c.at@") + take_at("d", "%d.at@"),
                          take_at("d", "%d.end@")),
                 sections(put_at("c", "%zero@"), put_at("c", "%c.at@") + put_at("d", "%d.at@"),
                          put_at("d", "%d.end@")),
                 channels) == "");
  }
  // The keys are released after the values.
  CHECK(errors(sections(take_at("c", "%zero@"),
                        get_at("c", "%c.at@") + take_at("d", "%d.at@") + done_at("c", "%c.at@"),
                        take_at("d", "%d.end@")),
               sections(put_at("c", "%zero@"), put_at("c", "%c.at@") + put_at("d", "%d.at@"),
                        put_at("d", "%d.end@")),
               one_each) == "");
}
