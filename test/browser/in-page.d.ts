// Types of the functions that run inside a page, apart, because the rest of the tree must not see a browser's globals.
export declare function widths(): { scrollWidth: number; clientWidth: number }
export declare function reachable(): string[]
export declare function focused(): Promise<{
  name: string
  hasRing: boolean
  isSeen: boolean
  height: number
}>
export declare function noteFocus(part: string): string[]
export declare function atEnd(): boolean
export declare function followFocus(): { walked: string[]; unseen: string[] }
export declare function letterSizePx(element: unknown): number
export declare function notePrinting(): void
export declare function showsPdf(): boolean
export declare function uncheck(form: unknown): void
export declare function layoutShift(): Promise<number>
export declare function scriptState(): { isNamed: boolean; hasRun: boolean }
export declare function shownParts(): string[]
export declare function heightOf(element: unknown): number
export declare function hasRules(): boolean
export declare function noteKinds(): void
export declare function violations(looked: {
  runOnly: { type: string; values: string[] }
  without?: string[]
  ofKinds?: boolean
}): Promise<string[]>
export declare function hearPhase(phase: string): Promise<void>
export declare function hide(): void
export type SendingNote = { sending: string; live: string; changed: string }
export declare function noteSending(): void
export declare function fillIn(form: object, fields: Record<string, string>): string
