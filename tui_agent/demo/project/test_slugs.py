import unittest

from slugs import slug


class SlugTest(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_punctuation_is_dropped(self):
        self.assertEqual(slug("Hello, World!"), "hello-world")

    def test_blanks_never_double_the_dash(self):
        self.assertEqual(slug("  Ready   steady  go "), "ready-steady-go")


if __name__ == "__main__":
    unittest.main()
