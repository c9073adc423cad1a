// Text that somebody else may have written: names and reasons of peers, host names of captures,
// what a plugin says. Wherever it is logged, printed or drawn, characters that command a terminal,
// forge a line or hide and turn other characters around are shown as what they are: `\u202e`.

/**
 * Controls, format characters (zero width, direction), line separators and halves of characters.
 */
const UNSEEN = '\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}';
const UNSEEN_ONE = new RegExp(`[${UNSEEN}]`, 'u');
const UNSEEN_ALL = new RegExp(`[${UNSEEN}]`, 'gu');
/** Lines and columns of our own tables. */
const UNSEEN_IN_LINES = new RegExp(`(?![\\n\\t])[${UNSEEN}]`, 'gu');

/** Whether it holds a character that does not show as itself. */
export function hasUnseen(text: string): boolean {
  return UNSEEN_ONE.test(text);
}

/** One line, or a part of one. */
export function plainText(text: string): string {
  return text.replace(UNSEEN_ALL, escaped);
}

/** Several lines that are ours, with texts of others in them. */
export function plainLines(text: string): string {
  return text.replace(UNSEEN_IN_LINES, escaped);
}

/** JSON that says the same; `JSON.stringify` leaves most of these characters as they are. */
export function plainJson(document: unknown, indent?: number): string {
  return plainLines(JSON.stringify(document, null, indent));
}

/** Without them, where a rule of the wire allows none. */
export function withoutUnseen(text: string): string {
  return text.replace(UNSEEN_ALL, ' ');
}

// By code unit: so it is JSON's own escape as well.
function escaped(character: string): string {
  let text = '';
  for (let index = 0; index < character.length; index++) {
    text += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return text;
}
