// The texts of hosted pages in Arabic, written from right to left; no markup.

import type { Messages } from './en.ts'
/** Arabic. What is filled in is isolated (U+2068, U+2069), so that an amount or a Latin name keeps its own direction. */
export const ar: Messages = {
  languageName: 'العربية',
  chooseLanguage: 'اللغة',
  sandbox: 'بيئة تجريبية: لا تنتقل هنا أموال حقيقية.',
  sandboxMark: 'تجربة',

  openTitle: 'طلب دفع',
  refusedTitle: 'رُفض الدفع. يمكنك المحاولة مرة أخرى.',
  refusedText: 'لم يُخصم أي مبلغ.',
  attemptsLeft: 'المحاولات المتبقية: \u2068{count}\u2069.',
  lastAttempt: 'هذه محاولتك الأخيرة.',
  partOfText: 'هذه حصتك من إجمالي \u2068{whole}\u2069.',
  partlyPaidText:
    'دُفع \u2068{paid}\u2069 من أصل \u2068{whole}\u2069. حصتك هي \u2068{amount}\u2069.',
  processingTitle: 'تجري معالجة دفعتك',
  processingText: 'يرجى الانتظار وعدم الدفع مرة أخرى. تتجدد هذه الصفحة تلقائيًا.',
  paidTitle: 'تم الدفع',
  paidText: 'شكرًا لك. استلم \u2068{merchant}\u2069 دفعتك.',
  yourPartPaidTitle: 'دُفعت حصتك',
  yourPartPaidText:
    'شكرًا لك. دُفع حتى الآن \u2068{paid}\u2069 من أصل \u2068{whole}\u2069. لا يزال على آخرين دفع \u2068{rest}\u2069.',
  paidOfWhole: 'المدفوع: \u2068{paid}\u2069 من أصل \u2068{whole}\u2069',
  cancelledTitle: 'أُلغيت هذه الدفعة',
  cancelledText: 'لم يُخصم أي مبلغ. لم يعد هذا الرابط صالحًا.',
  expiredTitle: 'انتهت مهلة الدفع',
  expiredText:
    'لم يُخصم أي مبلغ. لم يعد هذا الرابط صالحًا. اطلب رابطًا جديدًا من \u2068{merchant}\u2069.',
  failedTitle: 'فشلت عملية الدفع هذه',
  failedText:
    'لم يُخصم أي مبلغ. لم يعد هذا الرابط صالحًا. اطلب رابطًا جديدًا من \u2068{merchant}\u2069.',
  refundedTitle: 'رُدّ المبلغ',
  refundedToWallet: 'يعود مبلغ \u2068{total}\u2069 إلى محفظتك.',
  refundedToCard: 'يعود مبلغ \u2068{total}\u2069 إلى بطاقتك.',
  refundedToYou: 'يعود إليك مبلغ \u2068{total}\u2069.',

  amount: 'المبلغ',
  fee: 'الرسوم',
  total: 'الإجمالي',
  toPay: 'المطلوب دفعه',
  totalPaid: 'إجمالي المدفوع',
  payUntil: 'الدفع قبل',
  timeLeft: 'متبقٍّ \u2068{time}\u2069',
  waysToPay: 'طرق الدفع',

  cash: 'نقدًا',
  card: 'بطاقة',
  wallet: 'محفظة الهاتف',
  credit: 'بطاقة ائتمان',
  debit: 'بطاقة خصم مباشر',
  qr_code: 'رمز الاستجابة السريعة',
  walletInstead: 'ادفع من محفظة الهاتف بدلًا من ذلك',
  cardInstead: 'ادفع بالبطاقة بدلًا من ذلك',

  scanTitle: 'امسح الرمز للدفع',
  scanText: 'امسح هذا الرمز بكاميرا الهاتف أو افتح هذا الرابط:',
  qrLabel: 'رمز استجابة سريعة لرابط الدفع',
  payHere: 'ادفع على هذا الجهاز',

  walletTitle: 'ادفع من محفظة هاتفك',
  walletOf: 'محفظة \u2068{payer}\u2069',
  notYou: 'لست أنت؟',
  notYouText: 'لا تدخل أي رقم سري هنا. اطلب من \u2068{merchant}\u2069 رابطًا خاصًا بك.',
  pinLabel: 'الرقم السري للمحفظة',
  pinHint: 'من 4 إلى 12 رقمًا',
  mistakeTitle: 'هناك مشكلة',
  pinMistake: 'أدخل رقمًا سريًا من 4 إلى 12 رقمًا. لم يُخصم أي مبلغ.',
  offline: 'أنت غير متصل بالإنترنت. لم يُرسل شيء. حاول مرة أخرى عند الاتصال.',
  pay: 'ادفع \u2068{total}\u2069',

  cardTitle: 'ادفع بالبطاقة',
  cardFrame: 'نموذج البطاقة لدى مزوّد خدمة الدفع',
  cardUnavailable: 'نموذج البطاقة غير متاح حاليًا. يرجى المحاولة بعد دقيقة.',

  agentTitle: 'ادفع لدى وكيل',
  agentText: 'اذهب إلى وكيل ومعك \u2068{total}\u2069 نقدًا وأظهر هذا الرمز.',
  agentCardText: 'اذهب إلى وكيل ومعك بطاقتك وأظهر هذا الرمز.',
  barcodeLabel: 'الرمز الشريطي لرمز الدفع',
  print: 'طباعة هذه الصفحة',

  refresh: 'تحديث هذه الصفحة',
  changed: 'تغيّرت هذه الدفعة.',
  showChange: 'عرض ما تغيّر',
  backToShop: 'العودة إلى المتجر',
  openPage: 'فتح صفحة الدفع',

  cancel: 'إلغاء الدفع',
  cancelTitle: 'هل تريد إلغاء هذه الدفعة؟',
  cancelText: 'لن يُخصم أي مبلغ، ولن تتمكن بعد ذلك من الدفع بهذا الرابط.',
  cancelYes: 'نعم، ألغِ الدفع',
  cancelNo: 'لا، ارجع',

  notFoundTitle: 'لا يمكننا العثور على هذه الدفعة',
  notFoundText: 'تأكد من نسخ الرابط كاملًا، أو اطلب رابطًا جديدًا ممن أرسله إليك.',
  unavailableTitle: 'يرجى المحاولة مرة أخرى',
  unavailableText: 'الصفحة غير متاحة حاليًا.',
  foreignFormTitle: 'يرجى فتح الرابط مرة أخرى',
  foreignFormText: 'بقيت هذه الصفحة مفتوحة مدة طويلة. لم يُدفع شيء.',
  tooManyTitle: 'طلبات كثيرة جدًا',
  tooManyText: 'يرجى الانتظار قليلًا ثم المحاولة مرة أخرى.',
}
