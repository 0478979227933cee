"""What is said of a solution: facts for programs, sentences and summaries for people.

``sentences`` says what was proved and what is doubted, ``summary`` and ``summary_consensus`` what an annotation lead
wants to know first, ``facts`` the same as JSON values, ``contradicted`` which known labels workers contradict. It may
import what ``results`` may.
"""
